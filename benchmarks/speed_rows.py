"""Speed rows: one input, ours and the peers doing the same work, and a figure that shows it.

A row prepares arrays once. Each contender is a function ``(data) -> (work, judge)``: what it does
before returning (imports, compilation, warming up) is outside of the clock, ``work()`` inside, and
``judge(result)`` gives the figure of quality. `bench.py` runs each in a process of its own.
"""

from __future__ import annotations

import graph_rows
import learner_rows
import pipeline_row
from row_inputs import OURS, Row

__all__ = ["OURS", "ROWS"]

ROWS = graph_rows.ROWS | learner_rows.ROWS | pipeline_row.rows(Row, OURS)
