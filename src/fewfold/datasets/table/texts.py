"""Free text and codes of a table's column as numbers, by plans of plain values.

Free text: the weights (TF-IDF) of the most frequent words, projected on the principal directions of
this column (SVD). Codes and names of many kinds: counts of hashed character trigrams.
"""

from __future__ import annotations

import numpy as np

MOST_TERMS = 500
MOST_DIRECTIONS = 32
N_GRAMS = 32
DIGITS = 4
WORD = r"(?u)\b\w+\b"


def describe_texts(name: str, text: np.ndarray) -> dict | None:
    """Describe a column of free text; None if it holds fewer than three different words.

    Parameters
    ----------
    name : str
    text : ndarray of str
        All cells, "" where there is none.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    given = [cell for cell in text.tolist() if cell]
    least = 2 if len(given) >= 20 else 1  # a word of one row tells it apart, and nothing else
    table = TfidfVectorizer(max_features=MOST_TERMS, min_df=least, token_pattern=WORD)
    try:
        weights = table.fit_transform(given)
    except ValueError:  # no word at all
        return None
    n_directions = min(MOST_DIRECTIONS, *(side - 1 for side in weights.shape))
    if n_directions < 2:
        return None
    svd = TruncatedSVD(n_directions, random_state=0).fit(weights)
    return {
        "name": name,
        "kind": "text",
        "terms": table.get_feature_names_out().tolist(),
        "weights": [round(float(w), DIGITS) for w in table.idf_],
        "directions": [[round(float(v), DIGITS) for v in row] for row in svd.components_],
    }


def text_values(text: np.ndarray, column: dict) -> np.ndarray:
    """Return the features of a column of free text, by its plan."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.preprocessing import normalize

    places = {term: j for j, term in enumerate(column["terms"])}
    counts = CountVectorizer(vocabulary=places, token_pattern=WORD)
    weighted = counts.transform(text.tolist()).multiply(np.array(column["weights"])[None, :])
    return normalize(weighted.tocsr()) @ np.array(column["directions"]).T


def text_names(column: dict) -> list[str]:
    """Return the names of the features of a column of free text."""
    return [f"{column['name']}: topic {j + 1}" for j in range(len(column["directions"]))]


def code_values(text: np.ndarray, column: dict) -> np.ndarray:
    """Return hashed counts of character trigrams: similar codes are near each other."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hashed = HashingVectorizer(
        n_features=N_GRAMS, analyzer="char_wb", ngram_range=(2, 3), norm="l2", alternate_sign=True
    )
    return hashed.transform(text.tolist()).toarray()


def code_names(column: dict) -> list[str]:
    """Return the names of the features of a column of codes."""
    return [f"{column['name']}: letters {j + 1}" for j in range(N_GRAMS)]
