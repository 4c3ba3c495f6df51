"""Stage label_rows: the chosen method, all labels, to a label for each row."""

from fewfold.labeling.fitting import fit_answer
from fewfold.pipeline.artifacts import read, writing
from fewfold.pipeline.stages import stage_log


def main(choice, files, answer, *, methods, seed):
    with read(choice, "choose_method") as chosen:
        arrays, notes = fit_answer(chosen, files, methods, seed)
    with writing(answer, "label_rows", settings=methods, seed=seed, inputs=[choice]) as out:
        for name, values in arrays.items():
            out.add(name, values)
        for key, value in notes.items():
            out.note(key, value)
    print(f"{notes['method']}: {notes['details']}")


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(sm.input.choice, sm.params.files, sm.output.answer, **sm.params.settings)
