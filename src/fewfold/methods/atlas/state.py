"""The fitted state of an `AtlasSVC` as plain arrays: atlas, scales and learner."""

from __future__ import annotations

import numpy as np

from fewfold.exceptions import InputError
from fewfold.methods.atlas.arrays import FINER
from fewfold.methods.atlas.learners import LEARNERS, DualSVM, KernelOptions, PrimalSVM
from fewfold.methods.estimators import CLASSES
from fewfold.methods.parameters import boolean, count, one_of, positive
from fewfold.methods.state import Field, Setting, nested
from fewfold.methods.svm_state import SVM_STATE, svm_values, take_svm

HEAD = (
    CLASSES,
    Field("origin", "float", ("d",)),
    Field("basis", "float", ("d", "r"), optional=True),
    Setting("kernel", one_of(*LEARNERS)),
    Setting("assignment", one_of("soft", "hard")),
    Setting("normalize", boolean()),
    Setting("q", count()),
    Setting("has_finer", boolean()),
)
# Of each atlas: "m" charts of "e" dimensions, "w" of which encode a point.
_CHARTS = (
    Field("means", "float", ("m", "r")),
    Field("directions", "float", ("m", "e", "r")),
    Field("dims", "int", ("m",)),
    Setting("gamma", positive()),
    Setting("sigma", positive()),
)
_POINTS = (
    Field("charts", "int", ("s", "w")),
    Field("errors", "float", ("s", "w")),
    Field("projections", "float", ("s", "w", "e")),
    Field("member", "bool", ("s", "w")),
)
_PRIMAL = (Field("weights", "float", ("f", "c")), Field("intercepts", "float", ("c",)))
_NEAREST = (Field("base", "float", ("s", "r")), Field("codes", "int", ("s",), below="k"))


def declare(notes: dict) -> tuple:
    """Return the declaration, by the kernel and by whether there is a finer atlas."""
    learner = LEARNERS.get(notes.get("kernel"), DualSVM)
    own = {DualSVM: SVM_STATE, PrimalSVM: _PRIMAL}.get(learner, _NEAREST)
    level = (*_CHARTS, *_POINTS) if learner is DualSVM else _CHARTS
    levels = [nested(prefix, level, shared=("r", "s")) for prefix in _prefixes(notes)]
    return (*HEAD, *(field for fields in levels for field in fields), *own)


def _prefixes(values):
    return ("", FINER) if values.get("has_finer") else ("",)


def _names(fields):
    return [field.name for field in fields if isinstance(field, Field)]


def pack(model) -> dict:
    """Return the values of `declare` of a fitted `AtlasSVC`."""
    atlas, options, learner = model.atlas_, model.options_, model.learner_
    values = {
        "classes_": model.classes_,
        "origin": np.asarray(atlas["origin"]),
        "basis": np.asarray(atlas["basis"]) if np.size(atlas["basis"]) else None,
        "kernel": options.kernel,
        "assignment": options.assignment,
        "normalize": bool(options.normalize),
        "q": model.q_,
        "has_finer": options.finer is not None,
    }
    for prefix, own in zip(_prefixes(values), (options, options.finer)):
        values |= {prefix + "gamma": own.gamma, prefix + "sigma": own.sigma}
        values |= {prefix + name: np.asarray(atlas[prefix + name]) for name in _names(_CHARTS)}
        if isinstance(learner, DualSVM):
            values |= {prefix + name: learner.points[prefix + name] for name in _names(_POINTS)}
    if isinstance(learner, DualSVM):
        return values | svm_values(learner.svm)
    if isinstance(learner, PrimalSVM):
        return values | {"weights": learner.weights, "intercepts": learner.intercepts}
    return values | {"base": learner.base, "codes": learner.codes}


def unpack(values: dict):
    """Return the atlas, the options and the learner of a checked state.

    Raises
    ------
    InputError
        Where parts are there that do not fit together.
    """
    prefixes = _prefixes(values)
    names = [prefix + name for prefix in prefixes for name in _names(_CHARTS)]
    atlas = {name: values[name] for name in ("origin", "basis", *names)}
    if atlas["basis"] is None:
        atlas["basis"] = np.zeros((0, 0))
        _agree("means", values["means"].shape[1], len(atlas["origin"]))
    options, *finer = (_options(values, prefix) for prefix in prefixes)
    options = options.replace(finer=finer[0]) if finer else options
    learner, n_classes = LEARNERS[values["kernel"]](options, atlas), len(values["classes_"])
    if isinstance(learner, PrimalSVM):
        found = values["weights"], values["intercepts"]
        _agree("weights", len(found[0]), _feature_count(atlas, options, values["q"]))
        _agree("intercepts", len(found[1]), 1 if n_classes == 2 else n_classes)
        return atlas, options, learner.restore(*found)
    if not isinstance(learner, DualSVM):
        return atlas, options, learner.restore(values["base"], values["codes"], n_classes)
    points = {
        prefix + name: values[prefix + name] for prefix in prefixes for name in _names(_POINTS)
    }
    for prefix in prefixes:
        charts, m = points[prefix + "charts"], len(atlas[prefix + "means"])
        if charts.size and not 0 <= charts.min() <= charts.max() < m:
            raise InputError(f"AtlasSVC: '{prefix}charts' points outside of its {m} entries.")
    return atlas, options, learner.restore(points, take_svm("AtlasSVC", n_classes, values))


def _options(values, prefix):
    return KernelOptions(
        kernel=values["kernel"],
        assignment=values["assignment"],
        normalize=values["normalize"],
        gamma=values[prefix + "gamma"],
        sigma=values[prefix + "sigma"],
        n_charts=len(values[prefix + "means"]),
    )


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


def _agree(name, found, needed):
    if found != needed:
        raise InputError(
            f"AtlasSVC: {name!r} has a size of {found} where {needed} are needed. "
            "Write the model again."
        )
