"""Forms in which people have their data: each a small file, with what reading it must give.

`docs/inputs.md` is made of this table by ``python tests/unit/_input_forms.py``.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

N = 40
LABELED = 20


@dataclass(frozen=True)
class Form:
    """One form: how its file is written, and what is expected."""

    name: str
    write: object  # folder -> path or data frame
    options: dict = field(default_factory=dict)
    kinds: dict = field(default_factory=dict)  # of columns, as planned
    says: tuple = ()  # words that must be said
    refused: str = ""  # words of the error, where one more command is needed
    then: dict = field(default_factory=dict)  # that command's options
    labeled: int = LABELED
    note: str = ""


def base() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kinds = np.repeat(["ash", "oak"], N // 2)
    frame = pd.DataFrame(
        {
            "width": np.round(rng.normal(size=N) + 4 * (kinds == "oak"), 3),
            "height": np.round(rng.normal(size=N), 3),
            "soil": rng.choice(["clay", "sand"], N),
            "species": kinds,
        }
    )
    frame.loc[np.arange(N) % 2 == 1, "species"] = None
    return frame


def text(name, **changes):
    """A writer of a text table."""

    def write(folder: Path):
        options = dict(index=False) | changes
        encoding = options.pop("encoding", "utf-8")
        frame = options.pop("frame", base)()
        data = frame.to_csv(**options).encode(encoding)
        (folder / name).write_bytes(options.pop("wrap", lambda d: d)(data))
        return folder / name

    return write


def packed(name, pack):
    def write(folder):
        (folder / name).write_bytes(pack(base().to_csv(index=False).encode()))
        return folder / name

    return write


def zstd(data):
    import pyarrow as pa

    return pa.compress(data, codec="zstd", asbytes=True)


def with_column(name, values, suffix="csv", others=None, **options):
    """A writer of a CSV with one more column, or several."""

    def write(folder):
        path = folder / f"my.{suffix}"
        base().assign(**{name: values}, **(others or {})).to_csv(path, index=False, **options)
        return path

    return write


def changed(change):
    """A writer of a CSV whose text was changed."""

    def write(folder):
        (folder / "my.csv").write_text(change(base().to_csv(index=False)))
        return folder / "my.csv"

    return write


def marked(mark, blank=False):
    """A writer of a CSV whose unlabeled rows carry a mark; ``blank``: some are blank besides."""

    def write(folder):
        frame = base()
        gone = frame["species"].isna().to_numpy()
        frame["species"] = frame["species"].astype(object)
        frame.loc[gone, "species"] = mark
        if blank:
            frame.loc[np.flatnonzero(gone)[:10], "species"] = ""
        frame.to_csv(folder / "my.csv", index=False)
        return folder / "my.csv"

    return write


def by(method, name, **options):
    def write(folder):
        getattr(base(), method)(folder / name, **options)
        return folder / name

    return write


def vectors(folder):
    rng = np.random.default_rng(1)
    frame = base()[["species"]].assign(embedding=list(rng.normal(size=(N, 8)).astype("float32")))
    frame.to_parquet(folder / "my.parquet")
    return folder / "my.parquet"


def vectors_as_text(folder):
    rng = np.random.default_rng(1)
    cells = [json.dumps(row) for row in rng.normal(size=(N, 8)).round(3).tolist()]
    base()[["species"]].assign(embedding=cells).to_csv(folder / "my.csv", index=False)
    return folder / "my.csv"


def npz(folder):
    frame = base()
    y = frame["species"].map({"ash": 0, "oak": 1}).fillna(-1).astype(int)
    np.savez(folder / "my.npz", X=frame[["width", "height"]].to_numpy(), y=y)
    return folder / "my.npz"


def npy(folder):
    frame = base()
    np.save(folder / "my.npy", frame[["width", "height"]].to_numpy())
    (folder / "labels.txt").write_text("\n".join(frame["species"].fillna("")) + "\n")
    return folder / "my.npy"


def jsonl(folder):
    lines = [json.dumps(row) for row in base().replace({np.nan: None}).to_dict("records")]
    (folder / "my.jsonl").write_text("\n".join(lines))
    return folder / "my.jsonl"


def json_columns(folder):
    frame = base().astype(object).where(base().notna(), None)
    (folder / "my.json").write_text(json.dumps(frame.to_dict("list")))
    return folder / "my.json"


def nested_json(folder):
    rows = [{"size": {"w": w}, "species": s or ""} for w, s in
            zip(base()["width"], base()["species"].fillna(""))]  # fmt: skip
    (folder / "my.json").write_text(json.dumps({"data": rows}))
    return folder / "my.json"


def ods(folder):
    """An OpenDocument sheet, as LibreOffice writes it but for its styles."""
    import zipfile
    from xml.sax.saxutils import escape

    def cell(value):
        if value is None or value != value:
            return "<table:table-cell/>"
        if isinstance(value, float):
            return (f'<table:table-cell office:value-type="float" office:value="{value}">'
                    f"<text:p>{value}</text:p></table:table-cell>")  # fmt: skip
        return (f'<table:table-cell office:value-type="string"><text:p>{escape(str(value))}'
                "</text:p></table:table-cell>")  # fmt: skip

    rows = [list(base()), *base().astype(object).to_numpy().tolist()]
    table = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    names = " ".join(
        f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"'
        for n in ("office", "table", "text")
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    with zipfile.ZipFile(folder / "my.ods", "w") as file:
        file.writestr("mimetype", kind)
        file.writestr("content.xml", f"<office:document-content {names}><office:body>"
                      f'<office:spreadsheet><table:table table:name="Sheet1">{table}</table:table>'
                      "</office:spreadsheet></office:body></office:document-content>")  # fmt: skip
        file.writestr("META-INF/manifest.xml", "<manifest/>")
    return folder / "my.ods"


def images(side, table=False, unlabeled="unlabeled"):
    """A writer of a folder of images: subfolders by class, or ``table``: metadata.csv inside."""

    def write(folder):
        from PIL import Image

        found, names = base(), []
        for i, kind in enumerate(found["species"]):
            known = isinstance(kind, str) and not table
            name = f"{kind if known else unlabeled}/{i}.png"
            path = folder / "pictures" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = np.random.default_rng(i).integers(0, 255, (side, side), np.uint8)
            Image.fromarray(pixels).save(path)
            names.append(name)
        if table:
            labels = pd.DataFrame({"file_name": names, "species": found["species"]})
            labels.to_csv(folder / "pictures/metadata.csv", index=False)
        return folder / "pictures"

    return write


def cells(folder):
    """An h5ad file as scanpy writes it, with an embedding and scANVI's mark."""
    import h5py

    found = base()
    with h5py.File(folder / "my.h5ad", "w") as file:
        file["X"] = found[["width", "height"]].to_numpy()
        file["obsm/X_pca"] = found[["height"]].to_numpy() @ np.ones((1, 3))
        for group, n in (("obs", N), ("var", 2)):
            file.create_group(group).attrs["_index"] = "_index"
            file[group]["_index"] = [f"{group}{i}" for i in range(n)]
        file["obs"]["species"] = found["species"].fillna("Unknown").tolist()
    return folder / "my.h5ad"


def label_studio(folder):
    """An export of Label Studio: two people on each labeled row."""
    tasks = []
    for row in base().to_dict("records"):
        choice = [{"type": "choices", "value": {"choices": [row.pop("species")]}}]
        known = isinstance(choice[0]["value"]["choices"][0], str)
        people = [{"completed_by": p, "result": choice} for p in (1, 2)] if known else []
        tasks.append({"data": row, "annotations": people})
    (folder / "my.json").write_text(json.dumps(tasks))
    return folder / "my.json"


def people(folder):
    """Three people's labels in columns of their own."""
    frame = base().drop(columns="species").assign(
        **{name: base()["species"] for name in ("anna", "ben", "cleo")}
    )  # fmt: skip
    frame.loc[0, "ben"] = "oak"
    frame.to_csv(folder / "my.csv", index=False)
    return folder / "my.csv"


class Stream:
    """A frame of another library: all it offers is Arrow's stream, as polars does."""

    def __init__(self, frame):
        import pyarrow as pa

        self.table = pa.Table.from_pandas(frame, preserve_index=False)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def polars_frame(rich=False):
    """A real polars frame; ``rich``: with lists, dates and categories."""
    import polars as pl

    given = base().astype(object).where(base().notna(), None)
    frame = pl.DataFrame({name: given[name].tolist() for name in given})
    if not rich:
        return frame
    lists = np.random.default_rng(1).normal(size=(N, 8)).tolist()
    return frame.with_columns(
        pl.col("soil").cast(pl.Categorical),
        pl.Series("embedding", lists, dtype=pl.Array(pl.Float32, 8)),
        pl.Series("seen", TIMES.to_list()),
    )


RNG = np.random.default_rng(3)
PRICES = [f"{v:,.2f} €".translate(str.maketrans(",.", ".,")) for v in RNG.uniform(1, 9999, N)]
SENTENCES = [" ".join(RNG.choice("the bark is rough dark pale smooth leaf tall".split(), 8))
             for _ in range(N)]  # fmt: skip
MANY = [f"{'ABCDEFGH'[i % 8]}{i % 23}/{i % 13}" for i in RNG.integers(0, 40, N)]
TIMES = pd.date_range("2021-03-01 06:30", periods=N, freq="31h")

FORMS = [
    Form("CSV", text("my.csv"), kinds={"width": "number", "soil": "category"}),
    Form("TSV", text("my.tsv", sep="\t")),
    Form("CSV with semicolons", text("my.csv", sep=";")),
    Form(
        "CSV with semicolons and decimal commas",
        text("my.csv", sep=";", decimal=","),
        kinds={"width": "number"},
        says=("'width', 'height' are read from text: decimal comma",),
    ),
    Form(
        "a few decimal commas among whole numbers",
        with_column("wheel", ["28"] * 38 + ["27,5", "12"]),
        kinds={"wheel": "number"},
        says=("'wheel' are read from text: decimal comma",),
    ),
    Form("text file with tabs", text("my.txt", sep="\t")),
    Form("text file with bars", text("my.txt", sep="|")),
    Form("CSV, UTF-8 with a byte order mark", text("my.csv", encoding="utf-8-sig")),
    Form(
        "CSV, Latin-1",
        text("my.csv", encoding="latin-1", frame=lambda: base().rename(columns={"width": "größe"})),
        kinds={"größe": "number"},
        says=("stored as cp1252",),
    ),
    Form("CSV, UTF-16", text("my.csv", encoding="utf-16"), says=("stored as utf-16",)),
    Form("CSV, lines of old Macintosh", text("my.csv", lineterminator="\r")),
    Form("CSV with Windows lines", text("my.csv", lineterminator="\r\n")),
    Form("CSV.gz", packed("my.csv.gz", gzip.compress)),
    Form("CSV.bz2", packed("my.csv.bz2", bz2.compress)),
    Form("CSV.zst", packed("my.csv.zst", zstd)),
    Form("Parquet", by("to_parquet", "my.parquet"), kinds={"soil": "category"}),
    Form("Feather", by("to_feather", "my.feather")),
    Form("Excel", by("to_excel", "my.xlsx", index=False)),
    Form("OpenDocument", ods),
    Form("JSON, records", by("to_json", "my.json", orient="records")),
    Form("JSON, columns", json_columns),
    Form("JSON, nested records", nested_json, kinds={"size.w": "number"}),
    Form("JSON lines", jsonl),
    Form("Parquet with embeddings in a list column", vectors, kinds={"embedding": "vector"}),
    Form("CSV with embeddings written as lists", vectors_as_text, kinds={"embedding": "vector"}),
    Form("NPZ with X and y, -1 unlabeled", npz, options={"target": "y"}, says=("marked '-1'",)),
    Form("NPY and a file of labels", npy, options={"target": None, "labels": "labels.txt"}),
    Form("folder of images, a subfolder per class", images(12), options={"target": None},
         says=("40 images, used as 12 x 12 gray pixels",)),
    Form("folder of images, labels in metadata.csv", images(12, table=True)),
    Form("folder of larger images", images(80, unlabeled="unlabelled"), options={"target": None},
         says=("described by their gradients (HOG)",)),
    Form("h5ad, marked Unknown", cells, says=("40 cells x 2 genes", "marked 'Unknown'")),
    Form("h5ad with --use obsm:X_pca", cells, options={"x": "obsm:X_pca"},
         says=("40 cells x 3 numbers of obsm:X_pca",)),
    Form("export of Label Studio, two annotators", label_studio, options={"target": "label"},
         says=("An export of Label Studio", "2 annotators")),
    Form("columns of three annotators", people,
         options={"target": None, "annotators": ["anna", "ben", "cleo"]},
         says=("3 annotators, who disagree on 1 row;",)),
    Form("pandas data frame", lambda folder: base()),
    Form("frame of another library (Arrow stream)", lambda folder: Stream(base())),
    Form("polars data frame", lambda folder: polars_frame()),
    Form("polars frame with embeddings and dates", lambda folder: polars_frame(rich=True),
         kinds={"embedding": "vector", "seen": "date", "soil": "category"}),
    Form(
        "prices: thousands, decimal comma, currency",
        with_column("price", PRICES),
        kinds={"price": "number"},
        says=("'price' are read from text", "decimal comma", "without '€'"),
    ),
    Form(
        "prices of some hundreds and thousands",
        with_column("price", ["841 €"] * 30 + ["1.150 €"] * 10),
        kinds={"price": "number"},
        says=("'price' are read from text", "'.' between thousands", "without '€'"),
    ),
    Form(
        "decimal points in one column, commas in another",
        with_column("price", ["841"] * 30 + ["1.150"] * 10, others={"mass": ["6,6", "13,5"] * 20}),
        kinds={"price": "number", "mass": "number"},
        says=("'price': read with decimal points, 'mass' with decimal commas", "--decimal ,"),
    ),
    Form(
        "dollars",
        with_column("price", [f"${1000 + 37 * i:,}" for i in range(N)]),
        kinds={"price": "number"},
        says=("without '$'",),
    ),
    Form(
        "percent",
        with_column("share", [f"{v:.1f} %" for v in RNG.uniform(0, 99, N)]),
        kinds={"share": "number"},
        says=("without '%'",),
    ),
    Form(
        "units",
        with_column("weight", [f"{v:.1f} kg" for v in RNG.uniform(0, 99, N)]),
        kinds={"weight": "number"},
        says=("without 'kg'",),
    ),
    Form(
        "dates, ISO",
        with_column("seen", TIMES.strftime("%Y-%m-%d")),
        kinds={"seen": "date"},
        says=("years, season, weekday",),
    ),
    Form("dates, day first", with_column("seen", TIMES.strftime("%d.%m.%Y")),
         kinds={"seen": "date"}),
    Form("times", with_column("seen", TIMES.astype(str)), kinds={"seen": "date"}),
    Form(
        "free text",
        with_column("remark", SENTENCES),
        kinds={"remark": "text"},
        says=("TF-IDF",),
    ),
    Form(
        "many categories (codes)",
        with_column("ticket", MANY),
        kinds={"ticket": "code"},
        says=("compared by their letters",),
    ),
    Form(
        "numbers, some of them with a word",
        with_column("energy", [f"{'~' * (i % 8 == 5)}{500 + 7 * i} kcal" for i in range(40)]),
        kinds={"energy": "code"},
        says=("35 of 40 cells are numbers", "such as '~535 kcal'", "--types energy=number"),
    ),
    Form(
        "numbers with units, the others taken as empty",
        with_column("energy", [f"{'~' * (i % 8 == 5)}{500 + 7 * i} kcal" for i in range(40)]),
        options={"types": {"energy": "number"}},
        kinds={"energy": "number"},
        says=("without 'kcal'", "Taken as empty, since not a number: 5 cells of 'energy'"),
    ),
    Form(
        "numbers of two units",
        with_column("time", [f"{i + 1} {'h' if i % 8 == 5 else 'min'}" for i in range(40)]),
        kinds={"time": "code"},
        says=("several units ('h', 'min')",),
    ),
    Form(
        "ids",
        with_column("tree", [f"t{i:04d}" for i in range(N)]),
        says=("named by the column 'tree'",),
    ),
    Form(
        "consecutive numbers",
        with_column("nr", range(100, 100 + N)),
        says=("named by the column 'nr'",),
    ),
    Form(
        "all-different numbers with decimal comma are no ids",
        with_column("mass", [f"{v:.3f}".replace(".", ",") for v in RNG.uniform(1, 9, N)]),
        kinds={"mass": "number"},
    ),
    Form(
        "a type by name",
        with_column("zip", [10000 + i % 4 for i in range(N)]),
        options={"types": {"zip": "category"}},
        kinds={"zip": "category"},
    ),
    Form("an empty column", with_column("gone", [None] * N), says=("'gone' (empty)",)),
    Form(
        "some cells that are not numbers",
        with_column("age", ["12"] * 38 + ["old", "n.a."]),
        refused="found 'old'.*--types age=number.*--types age=category.*--drop age",
        then={"types": {"age": "number"}},
    ),
    Form(
        "some cells that are not numbers, taken as empty",
        with_column("age", [str(i) for i in range(36)] + ["old", "n.a.", "<LOD", "12"]),
        options={"types": {"age": "number"}},
        kinds={"age": "number"},
        says=("Taken as empty, since not a number: 3 cells of 'age'",),
    ),
    Form(
        "a column name twice",
        changed(lambda t: t.replace("width,height", "width,width", 1)),
        kinds={"width.1": "number"},
        says=("later ones are called 'width.1'",),
    ),
    Form(
        "the target's name twice",
        changed(lambda t: t.replace("\n", ",1\n").replace(",1\n", ",species\n", 1)),
        refused="occurs several times.*--drop species.1",
        then={"drop": ["species.1"]},
    ),
    Form(
        "lines of a title before the header",
        changed(lambda t: "Exported by Trees 2.1\n2024-01-01\n\n" + t),
        says=("Before the table, 2 lines are skipped",),
    ),
    Form(
        "a title before a header with semicolons",
        changed(lambda t: "Bericht 2024\n" + t.replace(",", ";")),
        says=("Before the table, 1 line is skipped",),
    ),
    Form("Excel's line sep=;", changed(lambda t: "sep=;\n" + t.replace(",", ";"))),
    Form("a delimiter at the end of each line", changed(lambda t: t.replace("\n", ",\n"))),
    Form(
        "a delimiter at the end of each row, not of the header",
        changed(lambda t: t.replace("\n", ",\n").replace(",\n", "\n", 1)),
    ),
    Form(
        "table of R: row names without a name",
        changed(lambda t: "".join(
            line if i == 0 else f"t{i},{line}" for i, line in enumerate(t.splitlines(True)))),
        says=("named by the column 'row'", "the first column is taken as names"),
    ),
    Form(
        "numbers only, without a header",
        changed(lambda t: "".join(f"{i},{i * 7 % 5},{i % 2}\n" for i in range(40))),
        refused="first line holds numbers only.*seq -s, -f column_%g 3",
    ),
    Form("texts of several lines in quotes",
         with_column("remark", [f"{s}\nand {s}" for s in SENTENCES]),
         kinds={"remark": "text"}),
    Form("times with zones", with_column("seen", TIMES.tz_localize("Europe/Berlin").astype(str)),
         kinds={"seen": "date"}),
    Form("truth values", with_column("tall", [i % 3 == 0 for i in range(N)]),
         kinds={"tall": "number"}),
    Form(
        "several columns with problems",
        lambda folder: _two_problems(folder),
        refused="2 columns cannot be used.*--drop age --drop girth",
        then={"drop": ["age", "girth"]},
    ),
    Form("unlabeled: blank", text("my.csv")),
    Form("unlabeled: marked None", marked("None"), says=("20 rows are marked 'None'",)),
    Form("unlabeled: marked Unknown", marked("Unknown"), says=("20 rows are marked 'Unknown'",)),
    Form("unlabeled: marked -1", marked("-1"), says=("20 rows are marked '-1'",)),
    Form("unlabeled: some blank, some marked ?", marked("?", blank=True),
         says=("10 rows are marked '?'",)),
    Form("a class called None beside blank cells", marked("None", blank=True), labeled=30,
         says=("--unlabeled None",)),
    Form("a mark of one's own", marked("todo"), options={"unlabeled": ["todo"]},
         says=("20 rows are marked 'todo'",)),
    Form(
        "no target given",
        text("my.csv"),
        options={"target": None},
        refused="which column holds the labels. Give it with --target",
        then={"target": "species"},
    ),
    Form(
        "a misspelt target",
        text("my.csv"),
        options={"target": "spcies"},
        refused="Did you mean 'species'",
        then={"target": "species"},
    ),
    Form(
        "a file of an unknown kind",
        lambda folder: _touched(folder / "my.doc"),
        refused="are not read; allowed: .csv",
    ),
]  # fmt: skip


def _two_problems(folder):
    frame = base().assign(age=["12"] * 39 + ["old"], girth=["7"] * 38 + ["wide", "8"])
    frame.to_csv(folder / "my.csv", index=False)
    return folder / "my.csv"


def _touched(path):
    path.write_text("x")
    return path


def page() -> str:
    """Return the documentation page: what happens to each form."""
    import tempfile

    from fewfold.exceptions import InputError

    out = io.StringIO()
    out.write(HEADER)
    for form in FORMS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = read(form, Path(folder), form.options)
                words = "read"
                if form.kinds:
                    words += ": " + ", ".join(f"`{n}` is {k}" for n, k in form.kinds.items())
                if form.says:
                    words += '; says "… ' + " … ".join(form.says) + ' …"'
                if found.y is not None and form.labeled != LABELED:
                    words += f"; {form.labeled} of {N} rows are labeled"
            except InputError as error:
                message = str(error).replace(folder + "/", "")
                words = f'one sentence: "{message[:230]}{"…" if len(message) > 230 else ""}"'
        out.write(f"| {form.name} | {words.replace('|', chr(92) + '|')} |\n")
    return out.getvalue()


HEADER = """# What can be read

Made from the table of `tests/unit/_input_forms.py`, whose every row is a test: forms in which
people have their data, and what `fewfold label`, `fewfold run` (`source: file`) and
`fewfold.label(...)` in Python do with them. All use one reader.

| form | what happens |
| --- | --- |
"""


def read(form: Form, folder: Path, options: dict):
    """Read a form's file as `fewfold label` does."""
    from fewfold.labeling.given import stored_input
    from fewfold.labeling.intake import read_input

    given = form.write(folder)
    path, _ = stored_input(given, folder / "out")
    options = {"target": "species", **options}
    if "labels" in options:
        options["labels"] = folder / options["labels"]
    return read_input(path, options.pop("target"), **options)


if __name__ == "__main__":
    target = Path(__file__).resolve().parents[2] / "docs/inputs.md"
    target.write_text(page(), encoding="utf-8")
