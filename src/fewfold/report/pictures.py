"""Pictures as data addresses: figures, sample images, and sheets of many small images."""

from __future__ import annotations

import base64
import io
import math
from typing import TYPE_CHECKING

import numpy as np

from fewfold.exceptions import FewfoldError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST_SVG = 300_000  # bytes; past this a raster picture is smaller and draws faster


def data_address(kind: str, content: bytes) -> str:
    """A ``data:`` address of some bytes."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def figure_address(figure: Figure) -> str:
    """A matplotlib figure as an address for ``<img>``: SVG, or PNG where SVG would be large.

    As an image, rather than inline, its ids cannot clash with another figure's and nothing in
    it can run or load. The bytes are the same each time.
    """
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "fewfold"}):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    if buffer.tell() <= LARGEST_SVG:
        return data_address("image/svg+xml", buffer.getvalue())
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight", dpi=130)
    return data_address("image/png", buffer.getvalue())


def add_figures(out, drawn) -> None:
    """Add a method's figures, (title, caption, figure) each, to a stage file being written."""
    try:
        found = [(title, caption, figure_address(figure)) for title, caption, figure in drawn]
    except FewfoldError as error:
        print(f"no figures: {error}")
        return
    for name, values in zip(("titles", "captions", "addresses"), zip(*found)):
        out.add(f"figures/{name}", list(values))


def gray_levels(images: np.ndarray, levels: int = 256) -> np.ndarray:
    """Scale images of shape (m, h, w) together to ``levels`` gray levels (uint8).

    >>> gray_levels(np.array([[[0.0, 0.5, 1.0]]]), 16)
    array([[[ 0,  8, 15]]], dtype=uint8)
    """
    images = np.nan_to_num(np.asarray(images, dtype=np.float64))
    low, high = (images.min(), images.max()) if images.size else (0.0, 1.0)
    scaled = (images - low) / (high - low) if high > low else np.zeros_like(images)
    return np.minimum(np.floor(scaled * levels), levels - 1).astype(np.uint8)


def png(gray: np.ndarray, bits: int = 8) -> bytes:
    """Encode gray levels of shape (h, w) as PNG; with ``bits=4`` the levels are 0 to 15."""
    from PIL import Image

    picture = Image.fromarray(np.ascontiguousarray(gray, dtype=np.uint8))
    buffer = io.BytesIO()
    if bits == 4:
        picture = picture.convert("L")
        picture = Image.frombytes("P", picture.size, picture.tobytes())
        picture.putpalette([17 * level for level in range(16) for _ in range(3)])
        picture.save(buffer, "PNG", bits=4)
    else:
        picture.save(buffer, "PNG")
    return buffer.getvalue()


def image_addresses(images: np.ndarray) -> list[str]:
    """Each image of an array (m, h, w) as an address, on one common gray scale."""
    return [data_address("image/png", png(image)) for image in gray_levels(images)]


def shrink(images: np.ndarray, largest: int) -> np.ndarray:
    """Average square blocks of pixels until neither side exceeds ``largest``."""
    m, h, w = images.shape
    factor = math.ceil(max(h, w) / largest)
    if factor <= 1:
        return images
    pad = ((0, 0), (0, -h % factor), (0, -w % factor))
    images = np.pad(images, pad, mode="edge")
    blocks = images.reshape(m, images.shape[1] // factor, factor, -1, factor)
    return blocks.mean(axis=(2, 4))


def sheet(images: np.ndarray, most_bytes: int) -> dict | None:
    """Many small images as one PNG, row by row, for a page that shows one at a time.

    Returns None where even a coarse version would take more than ``most_bytes``; otherwise the
    address, the size of one image, and the number of columns.
    """
    images = np.asarray(images, dtype=np.float64)
    for largest in (32, 16, 10):
        small = gray_levels(shrink(images, largest), 16)
        m, h, w = small.shape
        columns = max(1, math.ceil(math.sqrt(m)))
        rows = math.ceil(m / columns)
        canvas = np.zeros((rows * columns, h, w), dtype=np.uint8)
        canvas[:m] = small
        canvas = canvas.reshape(rows, columns, h, w).swapaxes(1, 2).reshape(rows * h, columns * w)
        content = png(canvas, bits=4)
        if len(content) * 4 / 3 <= most_bytes:
            address = data_address("image/png", content)
            return {"src": address, "w": w, "h": h, "columns": columns, "rows": rows}
    return None
