"""Stage draw_figures: a method's own pictures for the first trial with the most labels."""

from fewfold.artifacts import writing
from fewfold.chain_files import load_inputs
from fewfold.features import read_splits
from fewfold.plan.parts import LEARNERS
from fewfold.protocol import derive_seed
from fewfold.report.pictures import figure_address
from fewfold.stages import stage_log


def main(files, figures, *, learner, options):
    inputs, truth = load_inputs(files)
    splits = read_splits(files["splits"])
    budget = splits.budgets[-1]
    labeled = splits.order[0, :budget]
    part = LEARNERS[learner]
    drawn = part.illustrator()(
        inputs,
        labeled,
        truth.y[labeled],
        truth.y,
        n_classes=truth.n_classes,
        seed=derive_seed(splits.seed, 0, budget),
        settings=part.options(options),
    )
    titles, captions, addresses = [], [], []
    for title, caption, figure in drawn:
        titles.append(title)
        captions.append(caption)
        addresses.append(figure_address(figure))
    with writing(figures, "draw_figures", settings=options, inputs=[files["splits"]]) as out:
        out.add("titles", titles)
        out.add("captions", captions)
        out.add("addresses", addresses)


if "snakemake" in globals():
    sm = snakemake  # noqa: F821
    with stage_log(sm.log[0]):
        main(dict(sm.input.items()), sm.output.figures, **sm.params.settings)
