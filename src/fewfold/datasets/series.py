"""Generated series."""

from __future__ import annotations

import numpy as np

LENGTH = 128


def cylinder_bell_funnel(n: int, rng, *, noise: float = 1.0):
    """Three shapes that begin and end anywhere in a noisy series (Saito 1994).

    A plateau, a slow rise or a slow fall of height 6 + N(0, 1) between a ~ U[16, 32] and
    b ~ a + U[32, 96], in white noise: which shape it is does not depend on when it comes.
    """
    shape = rng.permutation(np.arange(n) % 3)
    t = np.arange(1, LENGTH + 1)
    start = rng.uniform(16, 32, (n, 1))
    length = rng.uniform(32, 96, (n, 1))
    share = (t - start) / length
    profiles = np.stack([np.ones_like(share), share, 1 - share])[shape, np.arange(n)]
    height = 6 + rng.standard_normal((n, 1))
    X = np.where((share >= 0) & (share <= 1), height * profiles, 0.0)
    return X + noise * rng.standard_normal(X.shape), shape, shape.copy()
