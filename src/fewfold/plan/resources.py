"""Memory and time that a job asks for, from the sizes the plan knows.

The formulas follow the measurements in docs/scaling.md with room to spare; a job that still
asks for too little is retried with more (`grow`). They are requests to a scheduler: they do
not change a result, and are no part of the config.
"""

from __future__ import annotations

BASE_MB = 600  # a Python process with numpy, scipy, scikit-learn and faiss loaded


def grow(value: float, attempt: int) -> int:
    """Return the request of an attempt: doubled each time, rounded up."""
    return int(value * 2 ** (attempt - 1)) + 1


def features_mb(n: int, d: int) -> float:
    """Memory of a dense float32 table and a working copy, in MB."""
    return BASE_MB + 3 * 4e-6 * n * d


def memory_mb(rule: str, n: int, d: int, labeled: int = 0, budgets: int = 1) -> float:
    """Return the memory a rule's job needs.

    Parameters
    ----------
    rule : str
    n, d : int
        Rows and columns of the dataset.
    labeled : int
        Labelled rows of the largest draw.
    budgets : int
        Label budgets of a training job.
    """
    table = features_mb(n, d)
    graph = 4e-4 * n  # neighbours, weights and their transpose, some 30 per point
    return {
        "fetch_dataset": 1.5 * table,
        "prepare_features": 2.0 * table,
        "search_neighbors": table + graph + 200,
        "build_graph": BASE_MB + 4 * graph,
        "extend_graph": table + 2 * graph,
        "fit_manifold": table + 8e-3 * n + 600,
        "encode_points": table + 4e-3 * n + 400,
        "compute_kernel_tile": table + 600,
        "make_copies": table + 200,
        "train_method": table + 2 * graph + 3 * 8e-6 * labeled * n + 500,
        "draw_map": table + 300,
        "make_report": table + 600,
    }.get(rule, BASE_MB + 4e-5 * n)


def runtime_min(rule: str, n: int, d: int, labeled: int = 0, fits: int = 1) -> float:
    """Return the minutes a rule's job may take on two ordinary cores.

    ``fits`` is the number of (trial, budget) cells of a training job.
    """
    flop = 1e-11 / 60  # minutes per multiply-add at 10 GFLOP/s
    return 3 + {
        "fetch_dataset": 1e-8 * n * d * 10,
        "prepare_features": flop * n * d * min(d, 4000) * 4,
        "search_neighbors": flop * n * n * min(d, 800) * 4 + 2e-5 * n,
        "extend_graph": flop * n * n * min(d, 800) + 2e-5 * n,
        "fit_manifold": 1e-4 * n,
        "encode_points": 2e-5 * n,
        "compute_kernel_tile": flop * n * max(labeled, 1000) * d * 4,
        "train_method": fits * (5e-6 * n + 2e-8 * labeled * n + 0.05),
    }.get(rule, 2)
