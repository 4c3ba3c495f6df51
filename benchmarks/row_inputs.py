"""What all speed rows share: the row itself and its points."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))
OURS = "fewfold"


@dataclass(frozen=True)
class Row:
    """One comparison: how its input is made, who takes part, and what quality means."""

    title: str
    quality: str
    prepare: Callable[..., dict]
    sizes: dict[str, dict]
    contenders: dict[str, Callable]


def curved_points(n, dims, n_latent=6, n_classes=10, seed=0):
    """Points on a smooth surface of few dimensions in many, in clusters: no download needed."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    Z = rng.normal(0, 1, (n_classes, n_latent))[y] + rng.normal(0, 0.5, (n, n_latent))
    X = np.cos(Z @ rng.normal(0, 0.7, (n_latent, dims)) + rng.uniform(0, 6.3, dims))
    X += rng.normal(0, 0.02, X.shape)
    return X.astype(np.float32), y


def mnist_points(n, dims):
    from fewfold.datasets import load
    from fewfold.linalg.preparation import fit_preparation

    data = load("mnist")
    rows = np.flatnonzero(~data.test_mask)[:n]
    X = np.asarray(data.X[rows], np.float32) / 255
    if dims < X.shape[1]:
        X = np.ascontiguousarray(fit_preparation(X, pca=dims).transform(X), np.float32)
    return X, np.asarray(data.y[rows], np.int64)


def points(source, n, dims):
    return (mnist_points if source == "mnist" else curved_points)(n, dims)


def sized(source, n, dims, **more):
    return {"source": source, "n": n, "dims": dims, **more}
