"""From a data frame, standard input or a packed table to labels, and the user's table filled in."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from fewfold import label
from fewfold.labeling.exports import EXPORTS
from fewfold.labeling.intake import read_input


def trees(n=40):
    rng = np.random.default_rng(0)
    kinds = np.repeat(["ash", "oak"], n // 2)
    width = rng.normal(size=n) + 6 * (kinds == "oak")
    given = np.where(np.arange(n) % 2 == 0, kinds, "")
    cells = [f"{v:.3f}".replace(".", ",") for v in width]
    return kinds, pd.DataFrame({"width": cells, "code": "NA", "species": given})


@pytest.mark.slow
def test_a_data_frame(tmp_path):
    kinds, frame = trees()
    frame["width"] = frame["width"].str.replace(",", ".").astype(float)
    also = list(EXPORTS)
    found = label(frame, target="species", out=tmp_path / "out", methods=["diffusion"], also=also)
    assert found.labels.tolist() == kinds.tolist()
    assert "rows labeled from 20 labels" in found.report() and found.model.exists()
    new = found.predict(pd.DataFrame({"width": [0.0, 6.0], "code": "NA"}))
    assert new["label"].tolist() == ["ash", "oak"]
    whole = pd.read_parquet(tmp_path / "out/completed.parquet")
    assert whole["species"].tolist() == kinds.tolist()
    assert whole["width"].tolist() == frame["width"].tolist()
    check_exports(tmp_path / "out", frame, kinds)
    again = label(frame, target="species", out=tmp_path / "out", methods=["diffusion"])
    assert again.table.equals(found.table)


def check_exports(folder, frame, kinds):
    """Every export holds the rows, and those of tools are read again with the given labels."""
    sure = pd.read_csv(folder / "probabilities.csv")
    assert sure.filter(like="p(").idxmax(axis=1).str[2:-1].tolist() == kinds.tolist()
    assert np.allclose(sure.filter(like="p(").sum(axis=1), 1, atol=1e-3)
    tasks = json.loads((folder / "label-studio.json").read_text())
    assert tasks[1]["data"] == {"width": frame["width"][1], "code": "NA"}
    said = tasks[1]["predictions"][0]
    assert said["result"][0]["value"] == {"choices": ["ash"]} and 0 < said["score"] <= 1
    for name in ("label-studio.json", "prodigy.jsonl", "argilla.jsonl"):
        found = read_input(folder / name, "label", images=False)
        given = [found.classes[c] if c >= 0 else "" for c in found.y]
        assert given == frame["species"].tolist(), name
    atlas = pd.read_parquet(folder / "embedding-atlas.parquet")
    assert {"x", "y", "neighbors", "label", "confidence", "width"} <= set(atlas)
    assert atlas["neighbors"][0].keys() == {"ids", "distances"} and len(atlas) == len(frame)


@pytest.mark.slow
def test_a_packed_table_is_given_back_as_it_was(tmp_path):
    kinds, frame = trees()
    path = tmp_path / "my.csv.gz"
    path.write_bytes(gzip.compress(frame.to_csv(index=False, sep=";").encode()))
    found = label(path, target="species", methods=["knn"])
    assert found.folder == tmp_path / "my-labels"
    text = gzip.decompress((found.folder / "completed.csv.gz").read_bytes()).decode()
    whole = [line.split(";") for line in text.splitlines()]
    assert whole[0] == ["width", "code", "species", "species_confidence"]
    assert [row[:2] for row in whole[1:]] == frame[["width", "code"]].to_numpy().tolist()
    assert [row[2] for row in whole[1:]] == kinds.tolist()
    assert float(whole[1][3]) == 1.0


@pytest.mark.parametrize("kind", ["xlsx", "json", "jsonl", "feather"])
def test_other_kinds(tmp_path, kind):
    from fewfold.datasets.frames import read_frame
    from fewfold.labeling.completed import Completed

    kinds, frame = trees()
    frame["species"] = frame["species"].replace("", None)
    path = tmp_path / f"my.{kind}"
    if kind == "xlsx":
        frame.to_excel(path, index=False)
    elif kind == "feather":
        frame.to_feather(path)
    else:
        frame.to_json(path, orient="records", lines=kind == "jsonl")
    completed = Completed(path, "species")
    assert completed.name == f"completed.{kind}"
    answer = pd.DataFrame({"label": kinds, "confidence": np.linspace(0.5, 1, len(kinds))})
    completed.write(tmp_path / completed.name, answer)
    whole = read_frame(tmp_path / completed.name)
    assert list(whole) == ["width", "code", "species", "species_confidence"]
    assert whole["species"].tolist() == kinds.tolist()
    assert whole["width"].tolist() == frame["width"].tolist()
    assert whole["species_confidence"].iloc[-1] == 1
