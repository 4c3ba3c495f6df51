"""Folders of images: a subfolder per class, or a table of labels beside the files.

Small images become their pixels, gray or in color, for which there are invariant graphs. Larger
ones are brought to one size and described by histograms of their gradients (HOG), which change
little when an object moves a little or the light changes, and by the colors of their parts.
"""

from __future__ import annotations

from contextlib import contextmanager
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
COLOR_CELLS = 4  # a side, of larger images: the mean color of each
N_COLOR = COLOR_CELLS**2 * 3
DESCRIBED = ("hog", "hog and colors")
DESCRIBED_WIDTHS = {"hog": N_HOG, "hog and colors": N_HOG + N_COLOR}
# Whether images have colors is judged by so many of them, and by how far their channels differ:
# by more than what saving gray pixels as JPEG leaves.
_JUDGED, _LEAST_COLOR = 100, 8


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
    if shape is None or len(shape) == 3:
        thumbnails = np.stack([_pixels(f, (THUMBNAIL, THUMBNAIL)) * 255 for f in files])
        thumbnails = thumbnails.astype(np.uint8)
    labels, where = None, str(folder)
    if request.with_labels:
        labels, where = _labels(folder, names, request)
    if shape is not None:
        how = f"used as {shape[0]} x {shape[1]} {'gray' if len(shape) == 2 else 'color'} pixels"
    else:
        colors = " and colors" if X.shape[1] > N_HOG else ""
        how = f"brought to {HOG_SIDE} x {HOG_SIDE} pixels and described by their gradients (HOG)"
        how += colors
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
    width = _width(shape)
    if shape in DESCRIBED:
        return FileShape((len(files), width), labels, where)
    return FileShape((len(files), width), labels, where, image_shape=shape)


def _shape(files, shape):
    """The size of the pixels to use: as asked, that of the largest image, or one of `DESCRIBED`."""
    if shape is None:
        colored = _are_colored(files)
        sizes = np.array([_size(file) for file in files])
        shape = tuple(int(s) for s in sizes.max(axis=0)[::-1])
        if max(shape) > LARGEST_SIDE:
            return DESCRIBED[colored]
        return (*shape, 3) if colored else shape
    return shape if shape in DESCRIBED else tuple(int(side) for side in shape)


def _width(shape):
    return DESCRIBED_WIDTHS[shape] if shape in DESCRIBED else int(np.prod(shape))


def _are_colored(files):
    """Whether any of some files, evenly spaced, has a color; looked at in small."""
    for place in np.unique(np.linspace(0, len(files) - 1, _JUDGED).round().astype(int)):
        with _opened(files[place]) as image:
            if image.mode in ("1", "L", "LA", "I", "I;16", "F"):
                continue
            pixels = np.asarray(_flat(image).convert("RGB").resize((32, 32)), np.int16)
        if np.ptp(pixels, axis=2).max() > _LEAST_COLOR:
            return True
    return False


def read_images(folder, files: list[Path], shape=None):
    """Read images as features, in the way that their sizes ask for.

    Parameters
    ----------
    folder : Path
        For messages.
    files : list of Path
    shape : (height, width) or (height, width, 3), optional
        Bring all images to this size and use their gray or color pixels; "hog" for histograms of
        gradients, "hog and colors" for these and the mean colors of the image's parts.

    Returns
    -------
    X : float32 ndarray of shape (n_images, n_features)
    shape : (height, width), (height, width, 3) or None
        None for histograms of gradients.
    """
    shape = _shape(files, shape)
    described = shape in DESCRIBED
    if not described and (len(shape) not in (2, 3) or len(shape) == 3 and shape[2] != 3):
        raise InputError(
            f"{folder}: image_shape={shape}; allowed: (height, width) for gray pixels and "
            "(height, width, 3) for colors."
        )
    width = _width(shape)
    require(4 * width * len(files), folder, f"{len(files)} images of {width} features")
    X = np.empty((len(files), width), dtype=np.float32)
    for i, file in enumerate(files):
        X[i] = _described(file, shape) if described else _pixels(file, shape).ravel()
    return X, None if described else shape


def _described(file, shape):
    """Return the histograms of one image, and its colors if they are asked for."""
    size = (HOG_SIDE, HOG_SIDE)
    found = gradient_histograms(_pixels(file, size))
    if shape == DESCRIBED[False]:
        return found
    side = HOG_SIDE // COLOR_CELLS
    cells = _pixels(file, (*size, 3)).reshape(COLOR_CELLS, side, COLOR_CELLS, side, 3)
    return np.concatenate([found, cells.mean(axis=(1, 3)).ravel()])


@contextmanager
def _opened(file):
    from PIL import Image

    with sound(file, "a readable image", "Replace or remove it."), Image.open(file) as image:
        yield image


def _size(file):
    with _opened(file) as image:
        return image.size


def _flat(image):
    """Return an image without transparency: what is transparent counts as white."""
    from PIL import Image

    if image.mode not in ("RGBA", "LA", "P"):
        return image
    image = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)


def _pixels(file, shape):
    """Return the pixels of an image, brought to a height and width, gray or in color, 0 to 1."""
    from PIL import Image

    with _opened(file) as image:
        pixels = _flat(image).convert("L" if len(shape) == 2 else "RGB")
        if pixels.size != (shape[1], shape[0]):
            pixels = pixels.resize((shape[1], shape[0]), Image.Resampling.BILINEAR)
        return np.asarray(pixels, dtype=np.float32) / 255


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
