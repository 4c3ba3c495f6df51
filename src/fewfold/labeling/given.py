"""Input of `label` and `predict`: a path, standard input, or a data frame."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from fewfold.datasets.raw_text import COMPRESSED
from fewfold.exceptions import InputError
from fewfold.pipeline.artifacts import atomic_path

STDIN = "-"
# Where a data frame or standard input is stored in the folder of a run.
STORED = "input/given"


def is_frame(given) -> bool:
    """Whether an object is a data frame: pandas, polars, or any with Arrow's stream."""
    return hasattr(given, "__arrow_c_stream__") or hasattr(given, "to_parquet")


def stored_input(given, out=None) -> tuple[Path, Path]:
    """Return the path of the input, and the folder for the results.

    Parameters
    ----------
    given : path-like, "-" or data frame
        A frame is stored as Parquet in the folder of the answer, standard input as it came.
    out : path-like, optional

    Returns
    -------
    path, folder : Path
    """
    if is_frame(given):
        folder = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="fewfold-"))
        return store_frame(given, folder / f"{STORED}.parquet"), folder
    if str(given) == STDIN:
        folder = Path(out) if out is not None else Path("stdin-labels")
        return store_stream(sys.stdin.buffer, folder / STORED), folder
    path = Path(given).expanduser()
    if out is not None:
        return path, Path(out)
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return path, plain.with_name(f"{plain.stem}-labels")


def store_frame(frame, path: Path) -> Path:
    """Write a data frame as Parquet; columns of mixed types become text."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    if isinstance(frame, pd.DataFrame):
        frame = frame.reset_index() if frame.index.name else frame.reset_index(drop=True)
        columns = {
            str(name): arrow_column(frame.iloc[:, j]) for j, name in enumerate(frame.columns)
        }
        if len(columns) < frame.shape[1]:
            raise InputError("The data frame has a column name twice. Rename one of them.")
        table = pa.table(columns)
    else:
        table = pa.table(frame)
        for place, field in enumerate(table.schema):
            if pa.types.is_dictionary(field.type):  # categories of polars, which Parquet refuses
                plain = pa.array(table[field.name].to_pylist())
                table = table.set_column(place, field.name, plain)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as part:
        parquet.write_table(table, part)
    return path


def arrow_column(series):
    """Return a column as an Arrow array; one of mixed types becomes text."""
    import pyarrow as pa

    try:
        return pa.Array.from_pandas(series)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.Array.from_pandas([None if gone else str(v) for v, gone in
                                     zip(series.tolist(), series.isna())])  # fmt: skip


def store_stream(stream, path: Path) -> Path:
    """Write what standard input holds to a file, named by its kind (CSV, JSON or Parquet)."""
    data = stream.read()
    if not data.strip():
        raise InputError("-: standard input is empty. Pipe a table with a header into fewfold.")
    suffix = ".csv"
    if data[:4] == b"PAR1":
        suffix = ".parquet"
    elif data.lstrip()[:1] == b"[":
        suffix = ".json"
    elif data.lstrip()[:1] == b"{":
        suffix = ".jsonl"
    path = path.with_suffix(suffix)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as part:
        part.write_bytes(data)
    return path
