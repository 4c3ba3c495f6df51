"""Folders of images: a subfolder per class, or a table of labels beside the files.

Small images become their gray pixels, for which there are invariant graphs. Larger ones are
brought to one size and described by histograms of their gradients (HOG), which change little when
an object moves a little or the light changes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fewfold.datasets import frames
from fewfold.datasets.column_names import some_names
from fewfold.datasets.damage import sound
from fewfold.datasets.table.marks import cell_text
from fewfold.datasets.table.options import FileContent, FileShape, Request
from fewfold.exceptions import InputError
from fewfold.system.memory import require

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
UNLABELED_FOLDERS = ("unlabeled", "unlabelled")
METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
NAME_COLUMNS = ("file_name", "filename", "file", "image", "path")
LARGEST_SIDE = 64  # of images that are taken as pixels
HOG_SIDE, HOG_CELL, HOG_BINS = 64, 8, 9
THUMBNAIL = 40  # pixels, of larger images in reports
N_HOG = (HOG_SIDE // HOG_CELL) ** 2 * HOG_BINS


def find_images(folder: Path) -> list[Path]:
    """Return the image files of a folder and of its subfolders, in order of their names."""
    found = [p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file()]
    hidden = [p for p in found if any(s.startswith(".") for s in p.relative_to(folder).parts)]
    found = sorted(set(found) - set(hidden))
    if not found:
        raise InputError(
            f"{folder}: the folder holds no images ({', '.join(SUFFIXES)}). Give a data file, or "
            "a folder with one subfolder of images per class."
        )
    return found


def read_image_folder(folder: Path, request: Request) -> FileContent:
    """Read a folder of images for labeling.

    Parameters
    ----------
    folder : Path
        ``class/file.png``; images in the folder itself or in ``unlabeled/`` have no label. Or a
        table of labels: ``metadata.csv`` inside, or the option ``labels``.
    request : Request

    Returns
    -------
    FileContent
    """
    files = find_images(folder)
    names = [p.relative_to(folder).as_posix() for p in files]
    X, shape = read_images(folder, files, request.options.image_shape)
    thumbnails = None
    if shape is None:
        thumbnails = np.stack([_gray(f, (THUMBNAIL, THUMBNAIL)) * 255 for f in files])
        thumbnails = thumbnails.astype(np.uint8)
    labels, where = None, str(folder)
    if request.with_labels:
        labels, where = _labels(folder, names, request)
    how = (
        f"used as {shape[0]} x {shape[1]} gray pixels"
        if shape is not None
        else f"brought to {HOG_SIDE} x {HOG_SIDE} pixels and described by their gradients (HOG)"
    )
    return FileContent(
        X=X,
        labels=labels,
        where=where,
        ids=names,
        id_name="file",
        sentences=[f"{len(files)} images, {how}."],
        image_shape=shape,
        thumbnails=thumbnails,
    )


def scan_image_folder(folder: Path, request: Request) -> FileShape:
    """Return the shape of the features that the images would have, and the labels."""
    files = find_images(folder)
    shape = _shape(files, request.options.image_shape)
    labels, where = _labels(folder, [p.relative_to(folder).as_posix() for p in files], request)
    if shape == "hog":
        return FileShape((len(files), N_HOG), labels, where)
    return FileShape((len(files), shape[0] * shape[1]), labels, where, image_shape=shape)


def _shape(files, shape):
    """The size of the pixels to use: as asked, that of the largest image, or "hog"."""
    if shape is None:
        sizes = np.array([_size(file) for file in files])
        shape = tuple(int(s) for s in sizes.max(axis=0)[::-1])
        if max(shape) > LARGEST_SIDE:
            return "hog"
    return shape if shape == "hog" else (int(shape[0]), int(shape[1]))


def read_images(folder, files: list[Path], shape=None):
    """Read images as features, in the way that their sizes ask for.

    Parameters
    ----------
    folder : Path
        For messages.
    files : list of Path
    shape : (height, width), optional
        Bring all images to this size and use their pixels; "hog" for histograms of gradients.

    Returns
    -------
    X : float32 ndarray of shape (n_images, n_features)
    shape : (height, width) or None
        None for histograms of gradients.
    """
    shape = _shape(files, shape)
    use_hog = shape == "hog"
    size = (HOG_SIDE, HOG_SIDE) if use_hog else shape
    width = N_HOG if use_hog else size[0] * size[1]
    require(4 * width * len(files), folder, f"{len(files)} images of {width} features")
    X = np.empty((len(files), width), dtype=np.float32)
    for i, file in enumerate(files):
        gray = _gray(file, size)
        X[i] = gradient_histograms(gray) if use_hog else gray.ravel()
    return X, None if use_hog else size


def _size(file):
    from PIL import Image

    with sound(file, "a readable image", "Replace or remove it."), Image.open(file) as image:
        return image.size


def _gray(file, size):
    from PIL import Image

    with sound(file, "a readable image", "Replace or remove it."), Image.open(file) as image:
        if image.mode in ("RGBA", "LA", "P"):  # what is transparent counts as white
            image = image.convert("RGBA")
            image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
        gray = image.convert("L")
        if gray.size != (size[1], size[0]):
            gray = gray.resize((size[1], size[0]), Image.Resampling.BILINEAR)
        return np.asarray(gray, dtype=np.float32) / 255


def gradient_histograms(gray: np.ndarray) -> np.ndarray:
    """Return histograms of oriented gradients: one per cell, each group of 2 x 2 of length 1.

    Parameters
    ----------
    gray : ndarray of shape (64, 64)

    Returns
    -------
    ndarray of shape (576,)

    Examples
    --------
    >>> float(gradient_histograms(np.zeros((64, 64))).sum())
    0.0
    """
    down, across = np.gradient(gray.astype(np.float64))
    strength = np.hypot(down, across)
    place = (np.arctan2(down, across) % np.pi) / np.pi * HOG_BINS
    low = np.floor(place).astype(int) % HOG_BINS
    share = place - np.floor(place)
    n = len(gray) // HOG_CELL
    cell = np.add.outer(np.arange(len(gray)) // HOG_CELL * n, np.arange(len(gray)) // HOG_CELL)
    histograms = np.zeros((n * n, HOG_BINS))
    np.add.at(histograms, (cell, low), strength * (1 - share))
    np.add.at(histograms, (cell, (low + 1) % HOG_BINS), strength * share)
    grid = histograms.reshape(n, n, HOG_BINS)
    # Each cell relative to its surroundings, so that light and contrast do not matter.
    energy = np.pad((grid**2).sum(axis=2), 1, mode="edge")
    around = sum(energy[i : i + n, j : j + n] for i in range(3) for j in range(3)) / 9
    return (grid / np.sqrt(around + 1e-4)[:, :, None]).ravel()


def _labels(folder, names, request):
    options = request.options
    table = options.labels
    if table is None:
        table = next((folder / name for name in METADATA if (folder / name).is_file()), None)
    if table is not None:
        return _labels_of_table(Path(table), names, options), str(table)
    first = [name.split("/")[0] if "/" in name else "" for name in names]
    labels = ["" if one.lower() in UNLABELED_FOLDERS else one for one in first]
    if not any(labels):
        raise InputError(
            f"{folder}: no image has a label. Put some into subfolders named by their class "
            f"({folder.name}/cat/1.png), or give a table of labels with the columns file_name "
            "and label (--labels my.csv)."
        )
    return np.array(labels, dtype=object), f"{folder}, its subfolders"


def _labels_of_table(table, names, options):
    columns = frames.column_names(table)
    name_column = next((c for c in NAME_COLUMNS if c in columns), columns[0])
    target = options.target
    if target is None:
        rest = [c for c in columns if c != name_column]
        target = "label" if "label" in rest else rest[0] if len(rest) == 1 else None
    if target is None or target not in columns:
        raise InputError(
            f"{table}: which column holds the labels? Give it with --target; columns: "
            f"{some_names(columns)}."
        )
    frame = frames.read_frame(table, text_columns=[name_column, target])
    known = {cell_text(n): cell_text(v) for n, v in zip(frame[name_column], frame[target])}
    base = {name.rsplit("/", 1)[-1]: name for name in names}
    missing = [n for n in known if n not in set(names) and n not in base]
    if missing:
        raise InputError(
            f"{table}: names {len(missing)} files that are not in the folder, such as "
            f"{missing[0]!r}. Paths are relative to the folder of images."
        )
    found = [known.get(name, known.get(name.rsplit("/", 1)[-1], "")) for name in names]
    return np.array(found, dtype=object)
