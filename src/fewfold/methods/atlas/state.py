"""What an `AtlasSVC` needs to label new rows, as plain arrays."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from fewfold.exceptions import InputError
from fewfold.methods.atlas.arrays import FINER
from fewfold.methods.atlas.learners import LEARNERS, DualSVM, KernelOptions, NearestInAtlas
from fewfold.methods.estimators import CLASSES
from fewfold.methods.parameters import boolean, count, one_of, positive
from fewfold.methods.state import Field, Setting
from fewfold.svm.kernel_svm import KernelSVM

_CHARTS = ("means", "directions", "dims")
_POINTS = ("charts", "errors", "projections", "member")


def _level(prefix, charts, dims, width, is_optional):
    """Declare the charts of one atlas, and the points that a learner keeps, encoded in it."""
    shapes = {
        "means": ("float", (charts, "r")),
        "directions": ("float", (charts, dims, "r")),
        "dims": ("int", (charts,)),
    }
    points = {
        "charts": ("int", ("s", width)),
        "errors": ("float", ("s", width)),
        "projections": ("float", ("s", width, dims)),
        "member": ("bool", ("s", width)),
    }
    return (
        *(Field(prefix + name, *what, optional=is_optional) for name, what in shapes.items()),
        *(
            Field(prefix + name, *what, below=charts if name == "charts" else None, optional=True)
            for name, what in points.items()
        ),
    )


STATE = (
    CLASSES,
    Field("origin", "float", ("d",)),
    Field("basis", "float", ("d", "r"), optional=True),
    *_level("", "m", "p", "q", is_optional=False),
    *_level(FINER, "finer_m", "finer_p", "finer_q", is_optional=True),
    Field("coefficients", "float", ("s", "c"), optional=True),  # of points: dual
    Field("weights", "float", ("f", "c"), optional=True),  # of features: primal
    Field("intercepts", "float", ("c",), optional=True),
    Field("codes", "int", ("s",), below="k", optional=True),  # classes of points: nearest
    Setting("kernel", one_of(*LEARNERS)),
    Setting("scheme", one_of("pairs", "rest"), optional=True),
    Setting("assignment", one_of("soft", "hard")),
    Setting("normalize", boolean()),
    Setting("q", count()),
    Setting("gamma", positive()),
    Setting("sigma", positive()),
    Setting("finer_gamma", positive(), optional=True),
    Setting("finer_sigma", positive(), optional=True),
)


def pack(model) -> dict:
    """Return the state of a fitted `AtlasSVC` by the names of `STATE`."""
    atlas, options, learner = model.atlas_, model.options_, model.learner_
    values = dict.fromkeys(field.name for field in STATE)
    values |= {name: getattr(options, name) for name in ("kernel", "assignment", "gamma", "sigma")}
    values |= {
        "classes_": model.classes_,
        "origin": np.asarray(atlas["origin"]),
        "basis": np.asarray(atlas["basis"]) if np.size(atlas["basis"]) else None,
        "normalize": bool(options.normalize),
        "q": model.q_,
    }
    prefixes = [""]
    if options.finer is not None:
        prefixes.append(FINER)
        values |= {"finer_gamma": options.finer.gamma, "finer_sigma": options.finer.sigma}
    for prefix in prefixes:
        values |= {prefix + name: np.asarray(atlas[prefix + name]) for name in _CHARTS}
    if hasattr(learner, "points"):
        values |= {p + name: learner.points[p + name] for p in prefixes for name in _POINTS}
    if isinstance(learner, DualSVM):
        svm = learner.svm
        values |= {"coefficients": svm.coefficients, "intercepts": svm.intercepts}
        values["scheme"] = "pairs" if svm.is_pairwise else "rest"
    elif isinstance(learner, NearestInAtlas):
        values["codes"] = learner.codes
    else:
        values |= {"weights": learner.weights, "intercepts": learner.intercepts}
    return values


def unpack(values: dict):
    """Return the atlas, options and learner of a checked state.

    Parameters
    ----------
    values : dict
        Checked against `STATE`.

    Returns
    -------
    atlas : dict of ndarrays
    options : KernelOptions
    learner : DualSVM, PrimalSVM or NearestInAtlas

    Raises
    ------
    InputError
        Where the parts do not fit together.
    """
    has_finer = values["finer_means"] is not None
    prefixes = ("", FINER) if has_finer else ("",)
    atlas = {"origin": values["origin"], "basis": values["basis"]}
    if atlas["basis"] is None:
        atlas["basis"] = np.zeros((0, 0))
        _agree("means", values["means"].shape[1], len(atlas["origin"]))
    atlas |= _present(values, [p + name for p in prefixes for name in _CHARTS])
    options = _options(values, "")
    if has_finer:
        _present(values, ["finer_gamma", "finer_sigma"])
        options = options.replace(finer=_options(values, FINER))
    learner = LEARNERS[values["kernel"]](options)
    n_classes = len(values["classes_"])
    if not isinstance(learner, DualSVM | NearestInAtlas):
        found = _present(values, ["weights", "intercepts"])
        _agree("weights", len(found["weights"]), _feature_count(atlas, options, values["q"]))
        _agree("intercepts", len(found["intercepts"]), 1 if n_classes == 2 else n_classes)
        return atlas, options, learner.restore(found["weights"], found["intercepts"])
    points = _present(values, [p + name for p in prefixes for name in _POINTS])
    if isinstance(learner, NearestInAtlas):
        codes = _present(values, ["codes"])["codes"]
        return atlas, options, learner.restore(points, codes, n_classes)
    svm = _kernel_svm(n_classes, **_present(values, ["coefficients", "intercepts", "scheme"]))
    return atlas, options, learner.restore(points, svm)


def _options(values, prefix):
    return KernelOptions(
        kernel=values["kernel"],
        assignment=values["assignment"],
        normalize=values["normalize"],
        gamma=values[prefix + "gamma"],
        sigma=values[prefix + "sigma"],
        n_charts=len(values[prefix + "means"]),
    )


def _kernel_svm(n_classes, coefficients, intercepts, scheme):
    if scheme == "rest":
        pairs = [(a, -1) for a in range(n_classes)]
    else:
        pairs = list(combinations(range(n_classes), 2))
    _agree("intercepts", len(intercepts), len(pairs))
    rows = np.arange(len(coefficients))
    return KernelSVM(np.arange(n_classes), rows, coefficients, intercepts, np.array(pairs))


def _feature_count(atlas, options, q):
    """Return the number of features of the charts, by making those of no point."""
    code = {}
    for prefix in ("", FINER) if options.finer else ("",):
        m, dims, _ = atlas[prefix + "directions"].shape
        width = min(q, m)
        code |= {
            prefix + "charts": np.zeros((0, width), np.int32),
            prefix + "errors": np.zeros((0, width), np.float32),
            prefix + "projections": np.zeros((0, width, dims), np.float32),
            prefix + "member": np.zeros((0, width), bool),
        }
    return options.features(code).shape[1]


def _present(values, names):
    for name in names:
        if values[name] is None:
            raise InputError(f"AtlasSVC: {name!r} is missing. Write the model again.")
    return {name: values[name] for name in names}


def _agree(name, found, needed):
    if found != needed:
        raise InputError(
            f"AtlasSVC: {name!r} has a size of {found} where {needed} are needed. "
            "Write the model again."
        )
