"""Placement of new points, with the embedded points fixed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from fewfold.methods.mbed.cost import log_memberships

_BLOCK_FLOATS = 2**22
_MAX_DOUBLE = 5000


def normalizers(Y: np.ndarray, rows_per_block: int = 512) -> np.ndarray:
    """Return ``Z_i``, the sum over j of ``exp(-|y_i - y_j|^2)`` without i itself, shape (n,)."""
    Y = np.asarray(Y, np.float32)
    norms = np.einsum("ij,ij->i", Y, Y)
    Z = np.empty(len(Y))
    for start in range(0, len(Y), rows_per_block):
        rows = slice(start, start + rows_per_block)
        E = _kernel(Y[rows], norms[rows], Y, norms)
        E.reshape(-1)[start :: len(Y) + 1][: len(E)] = 0
        Z[rows] = E.sum(axis=1, dtype=np.float64)
    return Z


def _kernel(A, A_norms, B, B_norms):
    E = A @ B.T
    E *= 2
    E -= A_norms[:, None]
    E -= B_norms
    return np.exp(np.minimum(E, 0, out=E), out=E)


class Placement:
    """The part of the cost that depends on the position of one new point, for many at once.

    For a new point at y with neighbor probabilities p (its own) and r (its share in the
    neighborhoods of the embedded points j)

        cost(y) = sum_j (p_j + r_j) |y - y_j|^2 + log sum_j E_j + sum_j log(1 + E_j / Z_j)
                  + H(m(y)) / n

    with ``E_j = exp(-|y - y_j|^2)``: the cost of Eq. 14 with the point added, minus what does not
    depend on y. New points are independent, so results do not depend on the batch.

    Parameters
    ----------
    Y : ndarray of shape (n, d)
        The embedding.
    Z : ndarray of shape (n,)
        Its `normalizers`.
    directions, lam : as in `fewfold.methods.mbed.cost`
    weight : float
        Factor of the margin term.
    """

    def __init__(self, Y, Z, directions, lam, weight=1.0):
        # Double precision while it is affordable: a point's position must not depend, even in the
        # sixth digit, on the batch it came with, and BLAS rounds by the shape of the batch.
        self.dtype = np.float64 if len(Y) <= _MAX_DOUBLE else np.float32
        self.center = Y.mean(axis=0, dtype=np.float64)
        self.Y = (Y - self.center).astype(self.dtype)
        self.norms = np.einsum("ij,ij->i", self.Y, self.Y)
        self.inverse = (1 / np.maximum(Z, 1e-30)).astype(self.dtype)
        self.directions, self.lam, self.weight = directions, lam, weight

    def cost(self, y: np.ndarray, S) -> tuple[np.ndarray, np.ndarray]:
        """Return each point's cost (m,) and gradient (m, d) at positions ``y``.

        ``S`` (m, n), dense or sparse, holds ``p + r``.
        """
        n = len(self.Y)
        y = y - self.center
        norms = np.einsum("ij,ij->i", y, y)
        E = _kernel(y.astype(self.dtype), norms.astype(self.dtype), self.Y, self.norms)
        Z = np.maximum(E.sum(axis=1, dtype=np.float64), 1e-30)
        ratio = E * self.inverse
        value = np.log(Z) + np.log1p(ratio).sum(axis=1, dtype=np.float64)
        strength = np.asarray(S.sum(axis=1)).ravel()
        pulled = S @ self.Y
        value += strength * norms - 2 * np.einsum("ij,ij->i", y, pulled) + S @ self.norms
        push = E / Z[:, None].astype(self.dtype) + ratio / (1 + ratio)
        push_sum = push.sum(axis=1, dtype=np.float64)
        gradient = 2 * ((strength - push_sum)[:, None] * y - pulled + push @ self.Y)
        log_m = log_memberships(y + self.center, self.directions, self.lam)
        m = np.exp(log_m)
        entropy = -(m * log_m).sum(axis=1)
        slope = -m * (log_m + entropy[:, None])
        value += self.weight / n * entropy
        gradient += self.weight / (n * self.lam) * (slope @ self.directions)
        return value, gradient

    def settle(self, y: np.ndarray, S, n_steps: int = 100, tolerance: float = 1e-6):
        """Minimize from ``y``, each point with its own step length; return (y, value).

        Step lengths follow Barzilai and Borwein (the curvature seen along the last step); a step
        that does not lower a point's cost is cut instead of taken. A point stops when its next
        step is below ``tolerance`` times lambda.
        """
        value, gradient = self.cost(y, S)
        # 2 * strength bounds the curvature of the attraction: a safe first step.
        step = 0.5 / np.maximum(np.asarray(S.sum(axis=1)).ravel(), 1e-12)
        y, active = y.copy(), np.arange(len(y))
        for _ in range(n_steps):
            size = np.abs(step[active, None] * gradient[active]).max(axis=1)
            active = active[size > tolerance * self.lam]
            if not len(active):
                break
            move = -step[active, None] * gradient[active]
            new_value, new_gradient = self.cost(y[active] + move, S[active])
            # Slack for rounding: at the bottom the gradient is finer than the value.
            better = new_value <= value[active] + 1e-10 * (1 + np.abs(value[active]))
            won, lost = active[better], active[~better]
            move, change = move[better], (new_gradient - gradient[active])[better]
            bend = np.einsum("ij,ij->i", move, change)
            length = np.einsum("ij,ij->i", move, move)
            curved = bend > 1e-12 * length
            step[won] = np.where(curved, length / np.where(curved, bend, 1), 2 * step[won])
            step[lost] *= 0.3
            y[won] += move
            value[won], gradient[won] = new_value[better], new_gradient[better]
        return y, value


def place(
    placement: Placement, S, starts: list[np.ndarray], pool: ThreadPoolExecutor | None = None
) -> np.ndarray:
    """Place new points from several starts, keeping each point's lowest cost.

    Parameters
    ----------
    placement : Placement
    S : array or csr_array of shape (m, n)
    starts : list of ndarrays of shape (m, d)
    pool : ThreadPoolExecutor, optional

    Returns
    -------
    ndarray of shape (m, d)
    """
    m, n = S.shape
    size = max(1, min(1024, _BLOCK_FLOATS // n))
    blocks = [slice(a, min(a + size, m)) for a in range(0, m, size)]

    def one(block):
        found = [placement.settle(start[block], S[block]) for start in starts]
        values = np.array([value for _, value in found])
        pick = values.argmin(axis=0)
        return np.array([y for y, _ in found])[pick, np.arange(len(pick))]

    parts = list(pool.map(one, blocks)) if pool else [one(block) for block in blocks]
    return np.concatenate(parts) if parts else np.empty((0, placement.Y.shape[1]))


def near_starts(S, Y: np.ndarray) -> list[np.ndarray]:
    """Return two starts for each new point: the mean of its neighbors, and the nearest of them."""
    total = np.asarray(S.sum(axis=1)).ravel()[:, None]
    mean = np.asarray(S @ Y.astype(np.float64)) / total
    return [mean, Y[np.asarray(S.argmax(axis=1)).ravel()].astype(np.float64)]
