"""Reading the files that a method's chain of stages left for its learner."""

from __future__ import annotations

from fewfold.artifacts import read
from fewfold.features import Labels, read_features, read_labels
from fewfold.training import Inputs


def load_inputs(files: dict) -> tuple[Inputs, Labels]:
    """Read what a learner is given.

    Parameters
    ----------
    files : dict
        Paths of features and labels, and of graph, extension, manifold, points, kernel and
        copies where the chain has them.

    Returns
    -------
    Inputs, Labels
    """
    data, truth = read_features(files["features"]), read_labels(files["labels"])
    graph = extension = manifold = kernel = copies = None
    if files.get("graph"):
        from fewfold.graph.files import read_graph

        graph = read_graph(files["graph"])
    if files.get("extension"):
        extension = read(files["extension"], "extend_graph")["weights"]
    if files.get("manifold"):
        with read(files["manifold"], "fit_manifold") as file:
            manifold = {name: file[name] for name in file.names()}
            manifold["settings"] = file.settings
    if files.get("points"):
        with read(files["points"], "encode_points") as file:
            manifold |= {f"code_{name}": file[name] for name in file.names()}
    if files.get("kernel"):
        from fewfold.kernels import KernelMatrix

        kernel = KernelMatrix(files["kernel"])
    if files.get("copies"):
        from fewfold.transforms.stage import CopiesFile

        copies = CopiesFile(files["copies"])
    inputs = Inputs(
        X=data.X,
        X_new=data.X_new,
        task=truth.task,
        graph=graph,
        extension=extension,
        manifold=manifold,
        kernel=kernel,
        copies=copies,
        image_shape=data.image_shape,
        images=data.images,
        images_new=data.images_new,
        groups=truth.groups,
        groups_new=truth.groups_new,
    )
    return inputs, truth
