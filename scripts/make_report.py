"""Stage make_report: tables, predictions and pictures to one HTML file."""

import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

# isort: split
from fewfold.pipeline.artifacts import atomic_path
from fewfold.pipeline.stages import stage_log
from fewfold.report.gather import gather
from fewfold.report.page import render


def main(tables, datasets, page, *, config, skipped, edges, logs):
    content = gather(tables, datasets, config, skipped=skipped, edges=edges, logs=logs)
    with atomic_path(page) as part:
        part.write_text(render(content), encoding="utf-8")


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(
            {name: getattr(sm.input, name) for name in ("metrics", "summary", "comparisons")},
            sm.params.files,
            sm.output.page,
            logs="logs",
            **sm.params.settings,
        )
