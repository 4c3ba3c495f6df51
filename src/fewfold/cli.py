"""The command line: it drives Snakemake, it does not replace it."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fewfold import __version__
from fewfold.exceptions import FewfoldError, InputError, Stopped
from fewfold.system.plain_text import printable

app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Label a whole dataset from a few labels by learning the shape of the data.",
)

# The options of `fewfold label`, in the groups in which its help shows them.
_reading = partial(typer.Option, rich_help_panel="How the file is read")
_answering = partial(typer.Option, rich_help_panel="How the labels are made")
_writing = partial(typer.Option, rich_help_panel="What is written")
_asking = partial(typer.Option, rich_help_panel="Labeling on a page, and the promise")
Cores = Annotated[int, typer.Option(help="Cores to use.", min=1)]
ConfigFiles = Annotated[
    list[Path] | None,
    typer.Option("--configfile", help="Config with what differs from config/config.yaml."),
]
Directory = Annotated[Path | None, typer.Option("--out", help="Folder for results/ and logs/.")]
Profile = Annotated[str | None, typer.Option(help="Profile under workflow/profiles, or a folder.")]


ALL_CORES = os.cpu_count() or 1
INTERRUPTED = 130  # what shells give a program that Ctrl-C ended


def say(text: str) -> None:
    """Print a line; characters of a file that steer a terminal are shown, not sent to it."""
    typer.echo(printable(text))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fewfold {__version__}")
        raise typer.Exit()


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
):
    """Label a whole dataset from a few labels by learning the shape of the data."""


def _finish(folder: Path | None, ran: int):
    results = (folder or Path()) / "results"
    if not ran:
        say("Nothing to do: everything is up to date.")
    say(
        f"Tables: {results / 'metrics.csv'} (every draw), summary.csv and comparisons.csv beside it"
    )
    say(f"Report: {results / 'report/index.html'}")


# A path without its option is answered with the option that it needs.
_STRAY = {"allow_extra_args": True}


def _refuse_stray(context: typer.Context, option: str) -> None:
    if context.args:
        name, path = context.info_name, context.args[0]
        raise InputError(
            f"fewfold {name} {path}: a path needs its option: fewfold {name} {option} {path}."
        )


@app.command(context_settings=_STRAY)
def run(
    context: typer.Context,
    cores: Cores = ALL_CORES,
    configfile: ConfigFiles = None,
    out: Directory = None,
    profile: Profile = None,
):
    """Run the config's datasets and methods, and write tables and a report."""
    from fewfold.runner import run_snakemake

    _refuse_stray(context, "--configfile")
    files = [f.resolve() for f in configfile or ()]
    ran = run_snakemake(cores=cores, configfiles=files, directory=out, profile=profile, echo=say)
    _finish(out, ran)


@app.command(context_settings=_STRAY)
def report(context: typer.Context, configfile: ConfigFiles = None, out: Directory = None):
    """Write the report again from what has been computed."""
    from fewfold.runner import run_snakemake

    _refuse_stray(context, "--out")
    folder = out or Path()
    if not (folder / "results").is_dir() or not any((folder / "results").iterdir()):
        raise InputError(
            f"{folder.resolve()} holds no results of a run, so there is nothing to report on. "
            "Give the folder of a run (--out), or start one: fewfold run."
        )
    run_snakemake(
        cores=1,
        configfiles=[f.resolve() for f in configfile or ()],
        directory=out,
        forcerun=["make_report"],
        echo=say,
    )
    _finish(out, 1)


@app.command()
def reproduce(
    key: Annotated[
        str | None,
        typer.Argument(
            help="atlas, eigenbasis, mbed, multimanifold, invariance or all; none: list."
        ),
    ] = None,
    cores: Cores = ALL_CORES,
    profile: Profile = None,
    trials: Annotated[
        int | None, typer.Option(help="Labeled draws; by default the config's.", min=1)
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Some of the part's datasets, by commas; default: all.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Some of the part's methods, by commas; default: all.")
    ] = None,
    table_only: Annotated[
        bool, typer.Option("--table-only", help="Run nothing: table from what is there.")
    ] = False,
    commit_table: Annotated[
        bool, typer.Option("--commit-table", help="Also write data/measured/KEY.csv.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder; by default results/reproduce/KEY.")
    ] = None,
):
    """Run a paper's experiments and put its numbers beside ours."""
    from fewfold.reproduce.command import overview, reproduce_all
    from fewfold.reproduce.command import reproduce as run_paper

    if key is None:
        for line in overview():
            say(line)
        return
    options = {"cores": cores, "profile": profile, "trials": trials, "table_only": table_only}
    options |= {"commit_table": commit_table, "out": out, "echo": say}
    parts = {"datasets": datasets, "methods": methods}
    parts = {what: names.split(",") for what, names in parts.items() if names}
    if key != "all":
        run_paper(key, **options, **parts)
    elif parts:
        raise InputError("--datasets and --methods choose within one paper: name it, not all.")
    else:
        reproduce_all(**options)


@app.command()
def datasets():
    """List the datasets: size, license, and whether they are on disk."""
    from rich.console import Console
    from rich.table import Table

    from fewfold.datasets import available

    table = Table(box=None, pad_edge=False)
    for name in ("name", "rows", "features", "classes", "download", "on disk", "license"):
        right = name in ("rows", "features", "classes", "download")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for record in available():
        numbers = [record.rows, record.features, record.classes]
        size = f"{record.size / 2**20:.1f} MB" if record.size else "-"
        table.add_row(
            record.name,
            *("-" if v is None else str(v) for v in numbers),
            size,
            record.on_disk,
            record.license,
        )
    Console().print(table)


@app.command()
def label(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Table, arrays or h5ad; - reads standard input.")
    ],
    target: Annotated[str | None, typer.Option(help="The column of labels, partly empty.")] = None,
    labels: Annotated[
        Path | None, _reading(help="A second file with one label per row, for arrays.")
    ] = None,
    annotators: Annotated[
        list[str] | None,
        _reading(help="A column with one person's labels, instead of --target."),
    ] = None,
    also: Annotated[
        list[str] | None,
        _writing(
            help="One more file: probabilities, label-studio, prodigy, argilla, embedding-atlas."
        ),
    ] = None,
    use: Annotated[
        str | None, _reading(help="The features: an array's name; for h5ad obsm:X_pca, ...")
    ] = None,
    graph: Annotated[
        str | None,
        _reading(help="Your own graph: G.npz, obsp:NAME (.h5ad), distances:G.npz."),
    ] = None,
    out: Annotated[
        Path | None,
        _writing(help="Folder (by default FILE-labels), or a table such as done.parquet."),
    ] = None,
    task: Annotated[str, _reading(help="auto, classification or regression.")] = "auto",
    classes: Annotated[
        int | None, _reading(help="Use no labels: put the rows into this many groups.")
    ] = None,
    methods: Annotated[
        str | None, _answering(help="Candidates, with commas; see docs/label-reference.md.")
    ] = None,
    priors: Annotated[
        str | None, _answering(help="Class shares: labels, equal, or such as a=0.8,b=0.2.")
    ] = None,
    quick: Annotated[
        bool,
        _answering("--quick", help="Fast: two candidates, nothing held out, no expected error."),
    ] = False,
    image_shape: Annotated[
        tuple[int, int] | None, _reading(help="HEIGHT WIDTH, if the features are pixels.")
    ] = None,
    images: Annotated[
        bool, _reading("--images/--no-images", help="Recognize square images.")
    ] = True,
    ids: Annotated[str | None, _reading(help="The column that names the rows.")] = None,
    drop: Annotated[list[str] | None, _reading(help="A column to leave out.")] = None,
    features: Annotated[
        list[str] | None, _reading(help="A column to use; others are left out then.")
    ] = None,
    keep: Annotated[
        list[str] | None, _reading(help="A column to use even if it looks like an id.")
    ] = None,
    types: Annotated[
        list[str] | None,
        _reading(help="COLUMN=TYPE: number, category, date, text, code, vector, id or drop."),
    ] = None,
    expand: Annotated[
        list[str] | None, _reading(help="A column of free text; as --types COLUMN=text.")
    ] = None,
    unlabeled: Annotated[
        list[str] | None,
        _reading(help="What means 'no label' besides blank cells; '' for nothing else."),
    ] = None,
    decimal: Annotated[
        str | None, _reading(help="Decimal sign of numbers: . or , (found by default).")
    ] = None,
    delimiter: Annotated[
        str | None, _reading(help="Separator of columns (found by default).")
    ] = None,
    encoding: Annotated[
        str | None, _reading(help="Encoding of the text (found by default).")
    ] = None,
    scale: Annotated[str, _reading(help="auto, none or standard.")] = "auto",
    abstain: Annotated[
        float | None, _answering(help="Leave labels with a lower confidence empty.")
    ] = None,
    spreadsheet_safe: Annotated[
        bool,
        _writing(
            "--spreadsheet-safe", help="Put an apostrophe before texts that look like formulas."
        ),
    ] = False,
    keep_spellings: Annotated[
        bool, _reading("--keep-spellings", help="Names that differ in case are two classes.")
    ] = False,
    serve: Annotated[
        bool, _asking("--serve", help="Label on a page of this computer, row by row.")
    ] = False,
    port: Annotated[int, _asking(help="Of the page; 0: any that is free.", min=0)] = 0,
    browser: Annotated[bool, _asking(help="Open the page in a browser.")] = True,
    promise: Annotated[
        str | None, _asking(help="Prove that at most this share is wrong, such as 2%.")
    ] = None,
    at: Annotated[str, _asking(help="Confidence of the promise and the intervals.")] = "95%",
    answers: Annotated[
        Path | None, _asking(help="Answers to the rows of audit.csv, for the promise.")
    ] = None,
    merge: Annotated[
        list[Path] | None, _asking(help="Journal of another person; its answers are imported.")
    ] = None,
    cores: Cores = ALL_CORES,
    profile: Profile = None,
    seed: Annotated[int, _answering(help="Everything random derives from it.", min=0)] = 0,
):
    """Fill in a mostly empty column: labels for all rows, a report, a model file."""
    # What was not given keeps the default of the function.
    given = {name: value for name, value in locals().items() if value not in (None, [])}
    import fewfold.system.light_start  # noqa: F401 (before NumPy and SciPy)

    # isort: split
    from fewfold.session.command import label_file

    if use:
        given["x"] = given.pop("use")
    if methods:
        given["methods"] = methods.split(",")
    if types:
        given["types"] = _types(types)
    if delimiter in ("\\t", "tab"):
        given["delimiter"] = "\t"
    label_file(given.pop("file"), **given, echo=say)


def _types(given) -> dict[str, str]:
    """Read --types COLUMN=TYPE; a column's name may hold an equals sign."""
    found = {}
    for text in given:
        name, equals, kind = text.rpartition("=")
        if not equals or not name:
            raise InputError(f"--types {text}: expected COLUMN=TYPE, such as --types zip=category.")
        found[name] = kind
    return found


@app.command()
def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="model.h5, written by 'fewfold label'.")
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file with the same columns.")],
    out: Annotated[
        Path, typer.Option(help="Table to write: .csv, .parquet, .xlsx, .h5ad, ...")
    ] = Path("predictions.csv"),
    abstain: Annotated[
        float | None, typer.Option(help="Leave labels with a lower confidence empty.")
    ] = None,
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe", help="Put an apostrophe before texts that look like formulas."
        ),
    ] = False,
):
    """Label the rows of a new file with a model file."""
    from fewfold.labeling import predict as predict_file

    predict_file(model, file, out, abstain=abstain, spreadsheet_safe=spreadsheet_safe, echo=say)


@app.command()
def doctor(
    out: Annotated[Path, typer.Option(help="The folder runs would use.")] = Path("."),
    profile: Profile = None,
    plan: Annotated[
        list[Path] | None, typer.Option(help="A config: say what it would take here, run nothing.")
    ] = None,
    verify: Annotated[
        Path | None,
        typer.Option(help="A run's folder or a cache: compare every file with its digests."),
    ] = None,
):
    """Check installation, cores, memory, disk and profile; a config's cost; or a folder's files."""
    if verify:
        from fewfold.verify import show_verified, verify_folder

        if show_verified(verify_folder(verify), typer.echo):
            raise typer.Exit(1)
        return
    if plan:
        from fewfold.config.forecast import show_plan

        show_plan(plan, out, say)
        return

    from fewfold.doctor import examine, show

    findings = examine(out, profile)
    show(findings, say)
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; a fewfold error is one sentence, not a traceback."""
    from fewfold.system.caches import ensure_cache
    from fewfold.system.stopping import unignore_signals

    unignore_signals()
    try:
        ensure_cache()
        app()
    except Stopped as stopped:
        print(printable(str(stopped)), file=sys.stderr)
        sys.exit(INTERRUPTED)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except FewfoldError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
