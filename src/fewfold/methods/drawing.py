"""What the figures of methods share."""

from __future__ import annotations


def new_axes(width: float, height: float):
    """Return a figure of this size in inches, drawn without a display, and its axes."""
    from matplotlib.figure import Figure  # slow to import: few jobs draw

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()
