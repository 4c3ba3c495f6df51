"""What is known of each published dataset before any of it is read."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fewfold.exceptions import InputError


@dataclass(frozen=True)
class Source:
    """One public address of a file, and how the download is packed."""

    url: str
    pack: str = "same"
    member: str | None = None


@dataclass(frozen=True)
class DataFile:
    """One file of a dataset: where it comes from and what it must hold."""

    path: str
    size: int
    sha256: str
    kind: str
    content_size: int
    content_sha256: str
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Entry:
    """One published dataset."""

    name: str
    title: str
    reader: str
    n_features: int
    classes: tuple[str, ...]
    counts: dict[str, tuple[int, ...]]
    license: str
    citation: str
    homepage: str
    files: tuple[DataFile, ...]
    image_shape: tuple[int, int] | None = None
    sparse: bool = False
    n_splits: int = 0

    @property
    def n_samples(self) -> int:
        """Rows of all parts together."""
        return sum(sum(part) for part in self.counts.values())

    @property
    def n_test(self) -> int:
        """Rows of the official test set."""
        return sum(self.counts.get("test", ()))

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(f.size for f in self.files)


def _data_file(raw: dict) -> DataFile:
    content = raw.get("content") or {
        "kind": "bytes",
        "size": raw["size"],
        "sha256": raw["sha256"],
    }
    sources = tuple(Source(u) if isinstance(u, str) else Source(**u) for u in raw["urls"])
    return DataFile(
        path=raw["path"],
        size=raw["size"],
        sha256=raw["sha256"],
        kind=content["kind"],
        content_size=content["size"],
        content_sha256=content["sha256"],
        sources=sources,
    )


def parse_registry(text: str) -> dict[str, Entry]:
    """Read a registry from YAML text (the form is explained at the top of registry.yaml)."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries = {}
    for name, raw in yaml.load(text, Loader=loader).items():
        shape = raw.get("image_shape")
        read = {
            "classes": tuple(raw["classes"]),
            "counts": {part: tuple(rows) for part, rows in raw["counts"].items()},
            "files": tuple(_data_file(f) for f in raw["files"]),
            "image_shape": None if shape is None else tuple(shape),
        }
        entries[name] = Entry(name=name, **raw | read)
    return entries


@cache
def registry() -> dict[str, Entry]:
    """Give the datasets of the packaged registry.yaml by name."""
    return parse_registry(Path(__file__).with_name("registry.yaml").read_text(encoding="utf-8"))


def nearest(name: str, known, cutoff: float = 0.5) -> str | None:
    """Return the known name most like the given one, or None."""
    folded = {str(k).casefold(): str(k) for k in known}
    hits = difflib.get_close_matches(str(name).casefold(), folded, n=1, cutoff=cutoff)
    return folded[hits[0]] if hits else None


def unknown_name(what: str, name: str, known) -> InputError:
    """Build the error for a name that is not among the known ones."""
    guess = nearest(name, known)
    hint = f" Did you mean {guess!r}?" if guess else ""
    return InputError(f"{what} {name!r} is not known.{hint} Known: {', '.join(map(str, known))}.")
