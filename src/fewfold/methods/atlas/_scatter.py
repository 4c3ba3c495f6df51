"""Compiled step of the kernel: a chart's block added into the rows and columns of its points."""

from __future__ import annotations

from fewfold.system.compiled import njit


@njit(nogil=True, cache=True)
def add_block(K, rows, columns, block):
    """Add ``block[i, j]`` to ``K[rows[i], columns[j]]``.

    In one pass; indexing with arrays reads, adds and writes in three.
    """
    for i in range(len(rows)):
        target = K[rows[i]]
        for j in range(len(columns)):
            target[columns[j]] += block[i, j]
