"""Load, describe and list datasets by name."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from fewfold.datasets.base import Dataset, Description
from fewfold.datasets.registry import Entry, registry, unknown_name
from fewfold.datasets.subset import Selection

FILE = "file"
STORED = "stored"  # features and labels that a command wrote as two stage files


@dataclass(frozen=True)
class Record:
    """One line of the list of datasets."""

    name: str
    title: str
    rows: int | None
    features: int | None
    classes: int | None
    size: int
    license: str
    on_disk: str


def names() -> list[str]:
    """Return the names of all sources a user may name: published, generated, and ``file``."""
    from fewfold.datasets.synthetic import GENERATORS

    return [*registry(), *GENERATORS, FILE]


def load(name: str, **options: Any) -> Dataset:
    """Load a dataset by name.

    Parameters
    ----------
    name : str
        A published dataset, a generator, or ``"file"`` for the user's own (see ``available``).
    **options
        Published sets take ``part`` ('all', 'train', 'test'), ``classes`` (names to keep),
        ``n_samples`` (non-test rows to keep at random), ``seed``, ``merge`` (groups of classes
        to put together), ``noise`` (s.d. of Gaussian noise as a share of the range of values)
        and, for images, ``image_size`` and ``rotated`` (each image turned by a random angle);
        newsgroups also its tokeniser's options. Generators take ``n_samples``, ``n_test``,
        ``seed`` and their own. ``file`` takes ``path``, ``target`` and the other options of
        ``fewfold.datasets.table.options.FileOptions``.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load("closed_curve", n_samples=50, seed=3).X.shape
    (50, 2)
    """
    from fewfold.datasets.synthetic import GENERATORS, generate

    if name == FILE:
        from fewfold.datasets.table.loading import load_file

        return load_file(**options)
    if name in GENERATORS:
        return generate(name, **options)
    if name not in registry():
        raise unknown_name("dataset", name, names())
    entry = registry()[name]
    selection, options = Selection.split(entry, options)
    return selection.apply(_read(entry, options))


def fetch(name: str) -> list[Path]:
    """Make sure that a published dataset's files are here, and verified.

    Parameters
    ----------
    name : str
        A published dataset; generated and embedded ones have no files.

    Returns
    -------
    list of Path
        The verified files, in the mirror or in the cache.

    Examples
    --------
    >>> fetch("digits")  # comes with scikit-learn
    []
    """
    from fewfold.datasets.download import obtain

    if name not in registry():
        if name in names():
            return []
        raise unknown_name("dataset", name, names())
    return [obtain(f) for f in registry()[name].files]


def _read(entry: Entry, options: dict) -> Dataset:
    if entry.reader == "newsgroups":
        from fewfold.datasets.newsgroups import read_newsgroups

        options = _checked(entry.name, options, read_newsgroups, skip=2)
        return read_newsgroups(entry, fetch(entry.name), **options)
    from fewfold.datasets.readers import READERS

    _no_more(entry.name, options, Selection.known(entry))
    return READERS[entry.reader](entry, fetch(entry.name))


def _checked(name: str, options: dict, function, skip: int = 0) -> dict:
    import inspect

    known = list(inspect.signature(function).parameters)[skip:]
    _no_more(name, {k: v for k, v in options.items() if k not in known}, known)
    return options


def _no_more(name: str, options: dict, known) -> None:
    for key in options:
        raise unknown_name(f"option of dataset {name}:", key, known)


def describe(name: str, **options: Any) -> Description:
    """Give the shape that ``load(name, **options)`` would have, without loading it.

    Published and generated sets answer from the registry. User files are scanned cheaply.
    Newsgroups with other than the default options have to be tokenized to be known. Of stored
    features the entry itself says the shape.

    Parameters
    ----------
    name : str
        A dataset of `available`, or "file" for a file of your own.
    **options
        As in `load`.

    Returns
    -------
    Description

    Examples
    --------
    >>> describe("mnist", classes=["2", "3"], part="test").n_samples
    2042
    """
    from fewfold.datasets.synthetic import GENERATORS, check_options

    if name == FILE:
        from fewfold.datasets.table.loading import describe_file

        return describe_file(**options)
    if name == STORED:
        return _described_by_entry(**_checked(name, options, _described_by_entry))
    if name in GENERATORS:
        generator = GENERATORS[name]
        own = {k: v for k, v in options.items() if k not in ("n_samples", "n_test", "seed")}
        n, n_test = check_options(name, options.get("n_samples"), options.get("n_test", 0), own)
        return Description(
            name=name,
            task=generator.task,
            n_samples=n + n_test,
            n_features=own.get("n_features", generator.n_features),
            n_classes=None if generator.classes is None else len(generator.classes),
            n_test=n_test,
            image_shape=generator.image_shape,
        )
    if name not in registry():
        raise unknown_name("dataset", name, names())
    entry = registry()[name]
    selection, rest = Selection.split(entry, options)
    if rest and entry.reader != "newsgroups":
        _no_more(name, rest, Selection.known(entry))
    if rest:
        return _described(entry, load(name, **options))
    n, n_test = selection.counts()
    shape = selection.image_size or entry.image_shape
    return Description(
        name=name,
        task="classification",
        n_samples=n,
        n_features=entry.n_features if shape is None else int(np.prod(shape)),
        n_classes=selection.n_classes,
        n_test=n_test,
        n_splits=entry.n_splits if n == entry.n_samples else 0,
        sparse=entry.sparse,
        image_shape=shape,
    )


def _described_by_entry(features: str, labels: str, shape: dict) -> Description:
    known = [field.name for field in fields(Description) if field.name != "name"]
    for key in shape:
        if key not in known:
            raise unknown_name(f"option shape of dataset {STORED}:", key, known)
    image_shape = shape.get("image_shape")
    shape = {**shape, "image_shape": tuple(image_shape) if image_shape else None}
    return Description(name=STORED, **shape)


def _described(entry: Entry, data: Dataset) -> Description:
    return Description(
        name=entry.name,
        task=data.task,
        n_samples=data.n_samples,
        n_features=data.n_features,
        n_classes=data.n_classes,
        n_test=0 if data.test_mask is None else int(data.test_mask.sum()),
        n_splits=0 if data.label_splits is None else len(data.label_splits),
        sparse=entry.sparse,
        image_shape=data.image_shape,
    )


def _where(entry: Entry) -> str:
    from fewfold.datasets.download import find_local

    if not entry.files:
        return "embedded"
    places = {find_local(f)[1] for f in entry.files}
    if "no" in places:
        return "no"
    return "mirror" if "mirror" in places else "cached"


def available() -> list[Record]:
    """List all datasets: shape, size, license, and whether they are already here.

    Returns
    -------
    list of Record
        ``on_disk`` is one of cached, mirror, embedded, generated, no. ``size`` is the
        download in bytes.

    Examples
    --------
    >>> {record.name: record.on_disk for record in available()}["digits"]
    'embedded'
    """
    from fewfold.datasets.synthetic import GENERATORS

    records = [
        Record(
            name=e.name,
            title=e.title,
            rows=e.n_samples,
            features=e.n_features,
            classes=len(e.classes),
            size=e.size,
            license=e.license,
            on_disk=_where(e),
        )
        for e in registry().values()
    ]
    for name, g in GENERATORS.items():
        classes = None if g.classes is None else len(g.classes)
        records.append(
            Record(name, g.title, g.n_samples, g.n_features, classes, 0, "generated", "generated")
        )
    return records
