"""Stage make_label_report: the answer as a table, advice, and one HTML page."""

import json

from fewfold.labeling.finishing import Material, advise, finish
from fewfold.labeling.report_page import render_answer
from fewfold.pipeline.artifacts import atomic_path
from fewfold.pipeline.stages import stage_log
from fewfold.system.plain_text import guarded_table


def main(files, outputs, *, abstain, spreadsheet_safe, config):
    material = Material.read(files)
    finished = finish(material, abstain=abstain)
    page = render_answer(material, finished, config=config)
    for key, table in (("labels", finished.table), ("advice", advise(material, finished))):
        with atomic_path(outputs[key]) as part:
            (guarded_table(table) if spreadsheet_safe else table).to_csv(part, index=False)
    with atomic_path(outputs["page"]) as part:
        part.write_text(page, encoding="utf-8")
    with atomic_path(outputs["summary"]) as part:
        part.write_text(json.dumps(finished.summary, indent=1), encoding="utf-8")


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.params.files, dict(sm.output.items()), **sm.params.settings)
