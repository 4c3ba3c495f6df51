"""The command line: it drives Snakemake, it does not replace it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from fewfold.exceptions import FewfoldError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Label a whole dataset from a few labels by learning the shape of the data.",
)

Cores = Annotated[int, typer.Option(help="Cores to use.", min=1)]
ConfigFiles = Annotated[
    list[Path] | None,
    typer.Option("--configfile", help="Config with what differs from config/config.yaml."),
]
Directory = Annotated[Path | None, typer.Option("--out", help="Folder for results/ and logs/.")]
Profile = Annotated[str | None, typer.Option(help="Profile under workflow/profiles, or a folder.")]


ALL_CORES = os.cpu_count() or 1


def _finish(folder: Path | None, ran: int):
    report = (folder or Path()) / "results/report/index.html"
    if not ran:
        typer.echo("Nothing to do: everything is up to date.")
    typer.echo(f"Report: {report}")


@app.command()
def run(
    cores: Cores = ALL_CORES,
    configfile: ConfigFiles = None,
    out: Directory = None,
    profile: Profile = None,
):
    """Run the config's datasets and methods, and write tables and a report."""
    from fewfold.runner import run_snakemake

    files = [f.resolve() for f in configfile or ()]
    ran = run_snakemake(
        cores=cores, configfiles=files, directory=out, profile=profile, echo=typer.echo
    )
    _finish(out, ran)


@app.command()
def report(configfile: ConfigFiles = None, out: Directory = None):
    """Write the report anew from what has been computed."""
    from fewfold.runner import run_snakemake

    run_snakemake(
        cores=1,
        configfiles=[f.resolve() for f in configfile or ()],
        directory=out,
        extra=["--forcerun", "make_report"],
        echo=typer.echo,
    )
    _finish(out, 1)


@app.command()
def datasets():
    """List the datasets: size, licence, and whether they are on disk."""
    from rich.console import Console
    from rich.table import Table

    from fewfold.datasets import available

    table = Table(box=None, pad_edge=False)
    for name in ("name", "rows", "features", "classes", "download", "on disk", "licence"):
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
            record.licence,
        )
    Console().print(table)


def main() -> None:
    """Run the command line; a fewfold error is one sentence, not a traceback."""
    try:
        app()
    except FewfoldError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
