"""Labeling row by row, with a statement of the error that is true whenever one looks."""
