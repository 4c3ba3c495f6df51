"""Labeling one file: candidates, their combination, the answer."""
