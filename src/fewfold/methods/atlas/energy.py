"""The atlas's energy: reconstruction of all memberships, and a cost for each chart in use.

Every point ``q`` lies in the interior of one chart ``y_q``: it and its ``k`` neighbors all
belong to that chart. A point therefore belongs to the charts ``{y_q : p in N_q}``, and

    E(y) = sum_p sum_c E_c(p) [some q with p in N_q has y_q = c] + mdl #{charts used}
           + potts #{neighboring p, q with y_p != y_q}.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Neighborhoods:
    """Each point with its neighbors, and for each point those whose neighborhood it is in.

    Attributes
    ----------
    members : int ndarray of shape (n, k + 1)
        ``N_q``: the point itself first, then its neighbors.
    indptr, owners : int ndarrays of shapes (n + 1,) and (n * (k + 1),)
        ``owners[indptr[p]:indptr[p + 1]]`` are the ``q`` with ``p`` in ``N_q``.
    edges : int ndarray of shape (n_edges, 2)
        Pairs of neighbors, each once, for the Potts term.
    """

    members: np.ndarray
    indptr: np.ndarray
    owners: np.ndarray
    edges: np.ndarray

    @classmethod
    def from_neighbors(cls, indices: np.ndarray) -> Neighborhoods:
        """Build from the neighbors of each point, the point itself left out.

        Parameters
        ----------
        indices : int ndarray of shape (n, k)

        Examples
        --------
        >>> hoods = Neighborhoods.from_neighbors(np.array([[1], [0], [1]]))
        >>> hoods.owners[hoods.indptr[1] : hoods.indptr[2]].tolist()
        [0, 1, 2]
        """
        indices = np.asarray(indices, np.int64)
        n = len(indices)
        members = np.column_stack([np.arange(n), indices]).astype(np.int64)
        flat = members.ravel()
        order = np.argsort(flat, kind="stable")
        owners = order // members.shape[1]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(flat, minlength=n))])
        pairs = np.column_stack([np.repeat(np.arange(n), indices.shape[1]), indices.ravel()])
        edges = np.unique(np.sort(pairs, axis=1), axis=0)
        return cls(members, indptr, owners, edges)

    def __len__(self) -> int:
        return len(self.members)

    def owners_of(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return all (position in ``points``, owner) pairs.

        Parameters
        ----------
        points : int ndarray of shape (n_points,)

        Returns
        -------
        position, owner : int ndarrays of shape (n_pairs,)
        """
        start = self.indptr[points]
        count = self.indptr[points + 1] - start
        position = np.repeat(np.arange(len(points)), count)
        offset = np.arange(len(position)) - np.repeat(np.cumsum(count) - count, count)
        return position, self.owners[np.repeat(start, count) + offset]


def memberships(y: np.ndarray, hoods: Neighborhoods) -> tuple[np.ndarray, np.ndarray]:
    """Return which points belong to which charts, each pair once, sorted by point.

    Parameters
    ----------
    y : int ndarray of shape (n,)
        Chart whose interior holds each point.
    hoods : Neighborhoods

    Returns
    -------
    points, charts : int ndarrays of shape (n_memberships,)

    Examples
    --------
    >>> hoods = Neighborhoods.from_neighbors(np.array([[1], [0], [1]]))
    >>> points, charts = memberships(np.array([0, 0, 5]), hoods)
    >>> list(zip(points.tolist(), charts.tolist()))
    [(0, 0), (1, 0), (1, 5), (2, 5)]
    """
    width = int(y.max()) + 1
    keys = np.unique(hoods.members * width + y[:, None])
    return keys // width, keys % width


def total_energy(
    y: np.ndarray, hoods: Neighborhoods, errors: np.ndarray, mdl: float, potts: float = 0.0
) -> float:
    """Energy of an assignment ([atlas-2014] Eq. 1 with its cheapest memberships).

    Parameters
    ----------
    y : int ndarray of shape (n,)
    hoods : Neighborhoods
    errors : ndarray of shape (n, n_charts)
        Reconstruction errors.
    mdl, potts : float
        Cost of a chart in use, and of a pair of neighbors in different interiors.

    Returns
    -------
    float
    """
    points, charts = memberships(y, hoods)
    energy = errors[points, charts].sum(dtype=np.float64) + mdl * len(np.unique(y))
    if potts:
        energy += potts * np.count_nonzero(y[hoods.edges[:, 0]] != y[hoods.edges[:, 1]])
    return float(energy)


def energy_around(
    rows: np.ndarray,
    y: np.ndarray,
    hoods: Neighborhoods,
    errors: np.ndarray,
    potts: float = 0.0,
) -> float:
    """Return the part of the energy, charts' cost apart, that the labels of some rows touch.

    Differences of this between two assignments that agree outside ``rows`` are differences of
    the whole energy (without the cost of charts).
    """
    points = np.unique(hoods.members[rows])
    position, owner = hoods.owners_of(points)
    width = errors.shape[1]
    keys = np.unique(position * width + y[owner])
    energy = errors[points[keys // width], keys % width].sum(dtype=np.float64)
    if potts:
        inside = np.zeros(len(hoods), bool)
        inside[rows] = True
        edges = hoods.edges[inside[hoods.edges].any(axis=1)]
        energy += potts * np.count_nonzero(y[edges[:, 0]] != y[edges[:, 1]])
    return float(energy)
