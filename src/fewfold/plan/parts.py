"""The parts a chain can be made of, and what each needs from the stages before it.

Adding a method: write its ``fit_predict``, add a line here, and its options to the schema.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True)
class Part:
    """One kind of manifold, kernel or learner.

    Attributes
    ----------
    target : str
        ``"module:function"``, imported only by the jobs that use it.
    needs : tuple of (section, allowed types)
        The references it must have: ``("graphs", ())`` any graph, ``("manifolds", ("atlas",))``
        a manifold of that type.
    may : tuple of str
        Sections it may also refer to.
    tasks : tuple of str
    encodes : bool
        Whether a manifold describes every row in a file of its own (stage encode_points).
    copies : bool
        Whether a learner reads transformed copies of the labelled rows (stage make_copies).
    clusters : bool
        Whether a learner works without any label (budget 0).
    renamed : tuple of (key in a config, name of the function's option)
        For options whose own name means something else in a config.
    figures : str or None
        ``"module:function"`` that draws a method's own pictures for the report.
    oracle : tuple of (option, value) or None
        The setting with which a learner is told what no method can know; the report shows such
        a method but ranks it nowhere.
    """

    target: str
    needs: tuple = ()
    may: tuple = ()
    tasks: tuple = ("classification",)
    encodes: bool = False
    copies: bool = False
    clusters: bool = False
    renamed: tuple = ()
    figures: str | None = None
    oracle: tuple | None = None

    def illustrator(self):
        """Import and return the function that draws the part's own pictures."""
        module, name = self.figures.split(":")
        return getattr(import_module(module), name)

    def options(self, settings: dict) -> dict:
        """Return a config entry's options under the names the function knows them by."""
        names = dict(self.renamed)
        return {names.get(key, key): value for key, value in settings.items()}

    @property
    def module(self) -> str:
        """The module that holds the function (what a rule's code digest covers)."""
        return self.target.split(":")[0]

    def function(self):
        """Import and return the function."""
        module, name = self.target.split(":")
        return getattr(import_module(module), name)


BOTH = ("classification", "regression")
GRAPH = ("graphs", ())
KERNEL = ("kernels", ())

MANIFOLDS = {
    "eigenbasis": Part("fewfold.eigenbasis_stage:fit_manifold", (GRAPH,)),
    "atlas": Part("fewfold.atlas.stage:fit_manifold", may=("graphs",), encodes=True),
    "embedding": Part("fewfold.embeddings:fit_manifold"),
}

KERNELS = {
    "linear": Part("fewfold.kernels:FeatureKernel"),
    "rbf": Part("fewfold.kernels:FeatureKernel"),
    "atlas": Part("fewfold.atlas.kernel_stage:AtlasKernel", (("manifolds", ("atlas",)),)),
    "deformed": Part("fewfold.invariance.kernel_stage:DeformedKernel", (GRAPH,), ("kernels",)),
}

LEARNERS = {
    "knn": Part("fewfold.learners:knn", tasks=BOTH),
    "linear_svm": Part("fewfold.learners:linear_svm"),
    "svm": Part("fewfold.learners:kernel_svm", (KERNEL,)),
    "feature_svm": Part("fewfold.feature_machines:feature_svm"),
    "embedded": Part("fewfold.embeddings:fit_predict", (("manifolds", ("embedding",)),)),
    "graph_svm": Part("fewfold.smoothing:graph_svm", (KERNEL, GRAPH)),
    "metric_svm": Part("fewfold.local_metric:metric_svm", (GRAPH,)),
    "label_spreading": Part("fewfold.learners:label_spreading"),
    "diffusion": Part("fewfold.diffusion:fit_predict", (GRAPH,)),
    "eigenbasis": Part("fewfold.eigenbasis:fit_predict", (("manifolds", ("eigenbasis",)),)),
    "atlas_svm": Part(
        "fewfold.atlas.adapter:fit_predict",
        (("manifolds", ("atlas",)),),
        renamed=(("kind", "kernel"),),
        figures="fewfold.report.illustrate:atlas",
    ),
    "kmeans": Part("fewfold.learners:kmeans", clusters=True),
    "mbed": Part(
        "fewfold.mbed.adapter:fit_predict",
        may=("graphs",),
        clusters=True,
        figures="fewfold.report.illustrate:mbed",
    ),
    "multimanifold": Part(
        "fewfold.multimanifold.adapter:fit_predict",
        may=("graphs",),
        tasks=BOTH,
        renamed=(("base", "learner"),),
        figures="fewfold.report.illustrate:multimanifold",
        oracle=("mode", "clairvoyant"),
    ),
    "invariant_svm": Part(
        "fewfold.invariance.adapter:fit_predict",
        may=("graphs",),
        copies=True,
        renamed=(("base", "kernel"), ("copies_graph", "graph")),
        figures="fewfold.report.illustrate:invariance",
    ),
    "virtual_support_vectors": Part("fewfold.invariance.adapter:fit_predict_vsv", copies=True),
    "virtual_samples": Part("fewfold.invariance.adapter:fit_predict_all_virtual", copies=True),
}

SECTIONS = {"manifolds": MANIFOLDS, "kernels": KERNELS, "methods": LEARNERS}

# The key under which a part refers to each section.
REFERENCES = {"graphs": "graph", "manifolds": "manifold", "kernels": "kernel"}


def oracles(config) -> set[str]:
    """Name the methods of a config that are told what no method can know."""
    found = set()
    for name, settings in (config.get("methods") or {}).items():
        part = LEARNERS.get((settings or {}).get("learner"))
        if part is not None and part.oracle is not None:
            option, value = part.oracle
            if settings.get(option) == value:
                found.add(name)
    return found
