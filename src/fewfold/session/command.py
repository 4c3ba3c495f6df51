"""`fewfold label --serve` and `fewfold label --promise`."""

from __future__ import annotations

from dataclasses import fields

from fewfold.datasets.table.options import FileOptions
from fewfold.exceptions import InputError


def parse_share(text: str, option: str) -> float:
    """Read "2%", "2 %" or "0.02" as a share.

    >>> parse_share("2%", "--promise"), parse_share("0.95", "--at")
    (0.02, 0.95)
    """
    plain = text.strip()
    is_percent = plain.endswith("%")
    try:
        value = float(plain.rstrip("% ")) / (100 if is_percent else 1)
    except ValueError:
        value = float("nan")
    if not 0 < value < 1:
        raise InputError(f"{option} {text}: expected a share such as 2% or 0.02.")
    return value


def label_file(path, target=None, *, serve=False, port=0, browser=True, promise=None, at="95%",
               answers=None, merge=(), out=None, seed=0, echo=print, **options):  # fmt: skip
    """Label a file in one run, on an interactive page, or with a promise.

    Parameters
    ----------
    serve, port, browser, merge
        See `serve_file`.
    promise, at : str
        Shares such as "2%".
    answers : path-like, optional
        See `fewfold.session.promise_files.prove`.
    path, target, out, seed, echo, **options
        As in `fewfold.label`.
    """
    level = parse_share(at, "--at")
    share = None if promise is None else parse_share(promise, "--promise")
    if answers is not None and share is None:
        raise InputError("--answers: say what is to be proven, such as --promise 2%.")
    if merge and not serve:
        raise InputError("--merge imports answers into a session: give --serve too.")
    if serve:
        known = {"keep_spellings", *(field.name for field in fields(FileOptions))}
        chosen = {key: value for key, value in options.items() if key in known}
        return serve_file(path, target, port=port, out=out, promise=share, level=level, seed=seed,
                          echo=echo, open_browser=browser, merge=merge, **chosen)  # fmt: skip
    from fewfold.labeling import label

    found = label(path, target, out=out, seed=seed, echo=echo, **options)
    if share is None:
        return found
    from fewfold.session.promise_files import prove

    return prove(found, target, share=share, level=level, answers=answers, seed=seed, echo=echo)


def serve_file(path, target=None, *, port=0, out=None, promise=None, level=0.95, seed=0,
               echo=print, open_browser=True, merge=(), **options) -> None:  # fmt: skip
    """Serve a page to label the rows of a file until it is stopped.

    Parameters
    ----------
    path, target, out, seed, echo
        As in `fewfold.label`.
    port : int
        0 takes a free one.
    promise, level
        As in `fewfold.session.session.LabelingSession`.
    open_browser : bool
    merge : sequence of path-like
        Journals of other people whose answers are imported.
    **options
        Options of the reader, as in `fewfold.label`.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise InputError(
            "--serve needs two more packages: pip install 'fewfold[serve]'."
        ) from error
    from fewfold.session.background import Background
    from fewfold.session.opening import open_file
    from fewfold.session.page_state import Desk
    from fewfold.session.server import serve

    opened = open_file(path, target, out=out, promise=promise, level=level, seed=seed, echo=echo,
                       **options)  # fmt: skip
    try:
        merge_journals(opened, merge, echo)
        desk = Desk(opened, Background(opened, seed))
        serve(desk, port=port, echo=echo, open_browser=open_browser)
    finally:
        opened.close()
    n = opened.session.record.n_answers
    echo(f"Stopped. {n} answers are in {opened.folder / 'session'}; the same command resumes.")


def merge_journals(opened, paths, echo) -> None:
    """Import other people's answers; report where they disagree with existing ones."""
    for path in paths:
        n, disagreements = opened.session.merge(path)
        echo(f"{path}: {n} answers imported, {len(disagreements)} disagree with answers here.")
        for row, ours, theirs in disagreements[:20]:
            echo(f"  {opened.views.name(row)}: {ours} here, {theirs} there")
