"""20 Newsgroups: from raw posts to word shares (eigenbasis-2002, section 4).

Headers are removed, letters lower-cased, words are runs of a-z, stop words are left out, the
most frequent words kept, counts divided by their sum, and empty posts dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from fewfold.datasets.archives import below_top, gunzip, tar_members
from fewfold.datasets.base import Dataset
from fewfold.datasets.registry import Entry
from fewfold.exceptions import DownloadError, InputError

_BLANK_LINE = re.compile(r"\r?\n[ \t]*\r?\n")
STOP_LISTS = ("smart", "frequent", "none")
WEIGHTS = ("shares", "counts")


def body(post: str) -> str:
    """Drop a post's header: all up to the first blank line.

    Examples
    --------
    >>> body("Subject: x\\nLines: 1\\n\\nhello")
    'hello'
    """
    parts = _BLANK_LINE.split(post, maxsplit=1)
    return parts[1] if len(parts) == 2 else ""


def stop_list() -> frozenset[str]:
    """Give the packaged stop words."""
    import yaml

    text = Path(__file__).with_name("stopwords.yaml").read_text(encoding="utf-8")
    return frozenset(yaml.safe_load(text)["words"].split())


def count_words(texts: Iterable[str]):
    """Count every word of every text.

    Parameters
    ----------
    texts : iterable of str

    Returns
    -------
    counts : csr_array of int32, shape (n_texts, n_words)
    words : list of str
        In alphabetical order.

    Examples
    --------
    >>> counts, words = count_words(["b a b", "c"])
    >>> words, counts.toarray().tolist()
    (['a', 'b', 'c'], [[1, 2, 0], [0, 0, 1]])
    """
    from scipy import sparse
    from sklearn.feature_extraction.text import CountVectorizer

    found = CountVectorizer(token_pattern="[a-z]+", dtype=np.int32)
    counts = sparse.csr_array(found.fit_transform(texts))
    return counts, found.get_feature_names_out().tolist()


def keep_words(counts, words: list[str], n_words: int, stop_words: str, n_stop: int) -> np.ndarray:
    """Choose the columns of the vocabulary: most frequent first, equals in order of spelling.

    Parameters
    ----------
    counts : csr_array of shape (n_texts, n_all)
    words : list of str
    n_words : int
        Size of the vocabulary.
    stop_words : {'smart', 'frequent', 'none'}
        Leave out the packaged list, the ``n_stop`` most frequent words, or nothing.
    n_stop : int
        Used by ``stop_words='frequent'``.
    """
    totals = np.asarray(counts.sum(axis=0)).ravel()
    order = np.lexsort((np.array(words), -totals))
    if stop_words == "smart":
        stopped = stop_list()
        order = order[[words[i] not in stopped for i in order]]
    elif stop_words == "frequent":
        order = order[n_stop:]
    return order[:n_words]


def _posts(path: Path, size: int) -> list[tuple[str, int, str]]:
    posts = []
    for name, data in tar_members(path, size + size // 2):
        group, _, number = below_top(name).partition("/")
        if not number.isdigit():
            raise DownloadError(f"{path}: member {name!r} is not <group>/<number>.")
        posts.append((group, int(number), data.decode("latin-1")))
    return sorted(posts, key=lambda post: post[:2])


def _test_ids(path: Path, size: int) -> set[str]:
    lines = gunzip(path, size + size // 2).decode("ascii").splitlines()
    return {line[5:].strip() for line in lines if line.startswith("test ")}


def read_newsgroups(
    entry: Entry,
    paths: list[Path],
    n_words: int = 6000,
    stop_words: str = "smart",
    n_stop: int = 500,
    weights: str = "shares",
) -> Dataset:
    """Read the 19997 posts as sparse word shares.

    Parameters
    ----------
    entry : Entry
    paths : list of Path
        The archive of posts and the list of the bydate split.
    n_words : int, default=6000
        Size of the vocabulary.
    stop_words : {'smart', 'frequent', 'none'}, default='smart'
        See :func:`keep_words`.
    n_stop : int, default=500
        Number of words left out by ``'frequent'``.
    weights : {'shares', 'counts'}, default='shares'
        Counts divided by their sum per post, or plain counts.

    Returns
    -------
    Dataset
        ``test_mask`` marks the posts that the bydate split tests on; the posts that bydate
        leaves out count as training posts.
    """
    for key, value, allowed in (
        ("stop_words", stop_words, STOP_LISTS),
        ("weights", weights, WEIGHTS),
    ):
        if value not in allowed:
            raise InputError(f"newsgroups: {key}={value!r}; allowed: {', '.join(allowed)}.")
    for key, value, least in (("n_words", n_words, 1), ("n_stop", n_stop, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"newsgroups: {key}={value!r}; allowed: a whole number >= {least}.")
    posts = _posts(paths[0], entry.files[0].content_size)
    counts, words = count_words(body(text) for _, _, text in posts)
    columns = keep_words(counts, words, n_words, stop_words, n_stop)
    X = counts[:, columns].astype(np.float64)
    totals = np.asarray(X.sum(axis=1)).ravel()
    rows = np.flatnonzero(totals > 0)
    X = X[rows]
    if weights == "shares":
        X.data /= np.repeat(totals[rows], np.diff(X.indptr))
    X.sort_indices()
    code = {name: i for i, name in enumerate(entry.classes)}
    ids = [f"{posts[i][0]}/{posts[i][1]}" for i in rows]
    test = _test_ids(paths[1], entry.files[1].content_size)
    return Dataset(
        name=entry.name,
        X=X,
        y=np.array([code[posts[i][0]] for i in rows], dtype=np.int64),
        classes=list(entry.classes),
        test_mask=np.array([i in test for i in ids]),
        feature_names=[words[i] for i in columns],
        ids=ids,
    )
