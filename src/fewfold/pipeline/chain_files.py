"""Reading the files that a method's chain of stages left for its learner."""

from __future__ import annotations

from dataclasses import replace

from fewfold.exceptions import ArtifactError
from fewfold.methods.base import ManifoldModel
from fewfold.pipeline.artifacts import read
from fewfold.pipeline.stage_files import Labels, Splits, read_features, read_labels
from fewfold.pipeline.training import Inputs


def load_stages(files: dict) -> dict:
    """Read what graph, manifold, kernel and copies stages wrote.

    Parameters
    ----------
    files : dict
        Paths of ``graph``, ``extension``, ``manifold``, ``points``, ``kernel`` and ``copies``,
        where there are any; others are left alone.

    Returns
    -------
    dict
        The objects under the same names, as far as there are files, and ``points_new``.
    """
    found = {}
    if files.get("graph"):
        from fewfold.pipeline.graph_files import read_graph

        found["graph"] = read_graph(files["graph"])
    if files.get("extension"):
        found["extension"] = read(files["extension"], "extend_graph")["weights"]
    if files.get("manifold"):
        with read(files["manifold"], "fit_manifold") as file:
            arrays = {name: file[name] for name in file.names()}
            found["manifold"] = ManifoldModel(arrays, dict(file.settings), type=file.note("kind"))
    if files.get("points"):
        found |= _read_points(files["points"], found.get("manifold"))
    if files.get("kernel"):
        from fewfold.pipeline.kernel_files import KernelMatrix

        found["kernel"] = KernelMatrix(files["kernel"])
    if files.get("copies"):
        from fewfold.pipeline.copies_files import CopiesFile

        found["copies"] = CopiesFile(files["copies"])
    return found


def _read_points(path, manifold):
    """Return the encoding of the rows and, under ``points_new``, of the new rows."""
    with read(path, "encode_points") as file:
        points = {name: file[name] for name in file.names()}
        for name in points if manifold is not None else ():
            charts = "finer_means" if name.startswith("finer_") else "means"
            if "charts" in name and charts in manifold.arrays:
                file.check_rows(name, points[name], len(manifold.arrays[charts]))
    new = {k.removesuffix("_new"): v for k, v in points.items() if k.endswith("_new")}
    own = {name: value for name, value in points.items() if not name.endswith("_new")}
    return {"points": own, "points_new": new or None}


def load_inputs(files: dict) -> tuple[Inputs, Labels]:
    """Read what a learner is given.

    Parameters
    ----------
    files : dict
        Paths of features and labels, and those that `load_stages` reads.

    Returns
    -------
    Inputs, Labels
    """
    data, truth = read_features(files["features"]), read_labels(files["labels"])
    stages = load_stages(files)
    points = {name: stages.pop(name) for name in ("points", "points_new") if name in stages}
    if points:
        stages["manifold"] = replace(stages["manifold"], **points)
    found = [stages.get(name) for name in ("graph", "extension", "manifold", "kernel")]
    _check_rows(data, truth, *found)
    inputs = Inputs(
        X=data.X,
        X_new=data.X_new,
        task=truth.task,
        image_shape=data.image_shape,
        images=data.images,
        images_new=data.images_new,
        groups=truth.groups,
        groups_new=truth.groups_new,
        **stages,
    )
    return inputs, truth


def _check_rows(data, truth, graph, extension, manifold, kernel) -> None:
    """Refuse files that are not about the same rows: one of them comes from elsewhere."""
    n = data.X.shape[0]
    new = None if data.X_new is None else data.X_new.shape[0]
    found = [("labels", len(truth.y), n)]
    if graph is not None:
        found.append(("graph", graph.W.shape[0], n))
    if extension is not None:
        found += [
            ("extension", extension.shape[1], n),
            ("extension (new rows)", extension.shape[0], new),
        ]
    if kernel is not None:
        found += [("kernel", kernel.n, n), ("kernel (new rows)", kernel.n_new, new or 0)]
    if manifold is not None:
        named = {"eigenvectors": manifold.arrays, "embedding": manifold.arrays,
                 "interior": manifold.arrays, "charts": manifold.points or {},
                 "positions": manifold.points or {}}  # fmt: skip
        found += [(f"manifold ({k})", len(v[k]), n) for k, v in named.items() if k in v]
        if manifold.points_new is not None:
            first = next(iter(manifold.points_new.values()))
            found.append(("points (new rows)", len(first), new))
    for name, rows, wanted in found:
        if rows != wanted:
            raise ArtifactError(
                f"The file of the {name} is about {rows} rows, the features have {wanted}. "
                "Move it away and run again."
            )


def cells_of(file, splits: Splits, n_rows: int) -> list[dict]:
    """Return the cells of a file of predictions, checked against the draws that they answer.

    Parameters
    ----------
    file : fewfold.pipeline.artifacts.Artifact
        Of stage train_method.
    splits : Splits
    n_rows : int
    """
    cells = file.note("cells")
    for cell in cells:
        if cell["trial"] >= len(splits.order) or cell["budget"] not in splits.budgets:
            file.fail(f"answers trial {cell['trial']} with {cell['budget']} labels, never drawn")
        for group in ("labels", "confidence"):
            name = f"{group}/{cell['trial']}/{cell['budget']}"
            if file.shape(name) != (n_rows,):
                file.fail(f"has shape {file.shape(name)} for {name!r}, expected {(n_rows,)}")
    return cells
