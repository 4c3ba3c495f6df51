"""Stage collect_metrics: all methods' rows as one table, its summary and the comparisons."""

import pandas as pd

from fewfold.pipeline.artifacts import atomic_path
from fewfold.pipeline.result_tables import read_table
from fewfold.pipeline.stages import stage_log
from fewfold.pipeline.statistics import compare, summarize


def main(parts, metrics, summary, comparisons):
    table = pd.concat([read_table(p, "metrics") for p in parts], ignore_index=True)
    table = table.sort_values(["dataset", "method", "n_labeled", "trial"], kind="stable")
    tables = {metrics: table, summary: summarize(table), comparisons: compare(table)}
    for path, frame in tables.items():
        with atomic_path(path) as part:
            frame.to_csv(part, index=False)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(
            list(sm.input.parts), sm.output.metrics, sm.output.summary, sm.output.comparisons
        )  # fmt: skip
