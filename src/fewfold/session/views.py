"""One row as the page shows it: an image, a text, or values with unusual ones marked."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd

UNUSUAL = 0.02  # share of rows below which a value is marked as unusual
MOST_FIELDS, MOST_TEXT, LARGEST_IMAGE = 60, 4000, 640
LONG_TEXT = 60  # characters from which a value is shown as text
SMALL_IMAGE = 256  # pixels that small images are enlarged to


class Views:
    """The rows of an input as the page shows them.

    Parameters
    ----------
    intake : Intake
    path : Path
        The user's file or folder.
    target : str or None
        Never shown.
    """

    def __init__(self, intake, path: Path, target):
        self.intake, self.path = intake, Path(path)
        self.frame = None
        if intake.frame is not None:
            self.frame = intake.frame.drop(columns=[target] if target else [], errors="ignore")
        self._ranks = {}

    @property
    def has_images(self) -> bool:
        """Whether rows are images."""
        return self.path.is_dir() or (
            self.intake.image_shape is not None and len(self.intake.image_shape) > 1
        )

    def name(self, row: int) -> str:
        """Return the row's name."""
        return str(self.intake.ids[row]) if self.intake.ids is not None else str(row + 1)

    def fields(self, row: int) -> list[dict]:
        """Return the row's values: name, value, whether it is text, and notes on unusual ones."""
        if self.has_images:
            return []
        if self.frame is None:
            return self._numbers(row)
        found = [self._field(str(name), j, row) for j, name in enumerate(self.frame.columns)]
        found.sort(key=lambda field: (not field["text"], field["note"] == ""))
        return found[:MOST_FIELDS]

    def _field(self, name, column, row):
        series = self.frame.iloc[:, column]
        value = series.iloc[row]
        if value is None or value is pd.NaT or value != value:
            return {"name": name, "value": "", "text": False, "note": "empty"}
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
            words = str(value)[:MOST_TEXT]
            is_text = len(words) > LONG_TEXT
            note = "" if is_text else self._rare(column, series, value)
            return {"name": name, "value": words, "text": is_text, "note": note}
        return {"name": name, "value": f"{value:.6g}", "text": False,
                "note": self._place(column, series, float(value))}  # fmt: skip

    def _rare(self, column, series, value):
        if column not in self._ranks:
            self._ranks[column] = series.astype(str).value_counts(normalize=True)
        shares = self._ranks[column]
        is_key = len(shares) > 0.5 * len(series)  # in a column of names every value is rare
        return "rare" if not is_key and shares.get(str(value), 1.0) < UNUSUAL else ""

    def _place(self, column, values, value):
        if column not in self._ranks:
            numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
            self._ranks[column] = np.nanquantile(numbers, [UNUSUAL, 1 - UNUSUAL])
        low, high = self._ranks[column]
        if low == high:
            return ""
        return "low" if value < low else "high" if value > high else ""

    def _numbers(self, row):
        X = self.intake.X[[row]]
        values = X.toarray()[0] if hasattr(X, "toarray") else np.asarray(X)[0]
        names = self.intake.feature_names or [f"column {j + 1}" for j in range(len(values))]
        largest = np.argsort(-np.abs(values), kind="stable")[:MOST_FIELDS]
        return [
            {"name": str(names[j]), "value": f"{values[j]:.6g}", "text": False, "note": ""}
            for j in largest
        ]

    def image(self, row: int) -> bytes:
        """Return the row's picture as PNG."""
        from PIL import Image

        if self.path.is_dir():
            # The name comes from the list made at the start, never from a request.
            with Image.open(self.path / self.intake.ids[row]) as image:
                image = image.convert("RGB")
                image.thumbnail((LARGEST_IMAGE, LARGEST_IMAGE))
        else:
            pixels = np.asarray(self.intake.X[row], dtype=float)
            pixels = pixels.reshape(self.intake.image_shape)
            low, high = pixels.min(), pixels.max()
            gray = np.uint8(np.round(255 * (pixels - low) / (high - low if high > low else 1)))
            image = Image.fromarray(gray.squeeze())
        if max(image.size) < SMALL_IMAGE // 2:
            factor = SMALL_IMAGE // max(image.size)
            image = image.resize([side * factor for side in image.size], Image.Resampling.NEAREST)
        out = io.BytesIO()
        image.save(out, "PNG")
        return out.getvalue()
