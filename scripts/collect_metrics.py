"""Stage collect_metrics: all methods' rows as one table, its summary and the comparisons."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from operator import itemgetter

from fewfold.pipeline.result_tables import read_rows, write_table
from fewfold.pipeline.stages import stage_log
from fewfold.pipeline.statistics import compare, summarize


def main(parts, metrics, summary, comparisons):
    rows = [row for part in parts for row in read_rows(part, "metrics")]
    rows.sort(key=itemgetter("dataset", "method", "n_labeled", "trial"))
    write_table(metrics, "metrics", rows)
    write_table(summary, "summary", summarize(rows))
    write_table(comparisons, "comparisons", compare(rows))


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(
            list(sm.input.parts), sm.output.metrics, sm.output.summary, sm.output.comparisons
        )  # fmt: skip
