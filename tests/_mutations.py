"""Changes of contents that a fuzzer tries: of JSON values, arrays, texts and bytes."""

import copy
import random

import numpy as np

ODD_VALUES = [
    None,
    True,
    False,
    0,
    -1,
    1,
    3,
    10**6,
    2**63,
    10**30,
    -(10**30),
    0.5,
    -0.0,
    1e-300,
    1e308,
    float("inf"),
    float("-inf"),
    float("nan"),
    "",
    "x",
    "graph",
    "svm",
    "orbit",
    "tangent",
    "os:system",
    "fewfold_canary_module:distance",
    "../../etc/passwd",
    "/etc/passwd",
    "\x1b[31m",
    "a\0b",
    "é" * 50,
    "x" * 5000,
    [],
    [0],
    [[]],
    [1, 2, 3],
    ["a"],
    {},
    {"a": 1},
    {"name": "rotation", "step": 1e-7},
    [[[[[[[[1]]]]]]]],
    [float("nan")] * 3,
    [-1, -1],
    [10**9, 10**9],
]


def mutate_json(value, rng: random.Random):
    """Return a copy of a JSON value with one place changed, removed, added or doubled."""
    value = copy.deepcopy(value)
    places = list(_places(value))
    if not places or rng.random() < 0.1:
        return rng.choice(ODD_VALUES)
    holder, key = rng.choice(places)
    action = rng.choice(["replace", "replace", "replace", "remove", "add", "scale"])
    if action == "remove":
        del holder[key]
    elif action == "add" and isinstance(holder, dict):
        holder[rng.choice(["a", "base", "metric", "kind", "name", ""])] = rng.choice(ODD_VALUES)
    elif action == "add":
        holder.insert(rng.randrange(len(holder) + 1), rng.choice(ODD_VALUES))
    elif action == "scale" and isinstance(holder[key], (int, float)):
        holder[key] = holder[key] * rng.choice([-1, 0, 2, 10, 1e6, 1e-6, 1e30])
    else:
        holder[key] = rng.choice(ODD_VALUES)
    return value


def _places(value):
    if isinstance(value, dict):
        for key in value:
            yield value, key
            yield from _places(value[key])
    elif isinstance(value, list):
        for i in range(min(len(value), 50)):
            yield value, i
            yield from _places(value[i])


def mutate_array(value, rng: random.Random):
    """Return a copy of an array, or list of texts, with other values, shape or type."""
    if isinstance(value, list):
        changed = mutate_json(value, rng)
        texts = [str(v).replace("\0", " ") for v in changed] if isinstance(changed, list) else []
        return texts or ["x"]
    value = np.array(value)
    action = rng.choice(["value", "value", "value", "cut", "double", "type", "shape", "empty"])
    if action == "value" and value.size:
        odd = [0, -1, 1, 2**31, 1e30, np.nan, np.inf, -np.inf, 1e-30]
        flat = value.reshape(-1)
        with np.errstate(all="ignore"):
            flat[rng.randrange(flat.size)] = np.array(rng.choice(odd)).astype(value.dtype)
            if rng.random() < 0.2:
                flat[:] = flat[rng.randrange(flat.size)]
    elif action == "cut":
        value = value[: rng.randrange(len(value) + 1)] if value.ndim else value
    elif action == "double" and value.ndim:
        value = np.concatenate([value, value])
    elif action == "type":
        with np.errstate(all="ignore"):
            value = value.astype(rng.choice(["f4", "f8", "i1", "i8", "u1", "u8", "?"]))
    elif action == "shape":
        value = rng.choice([value.reshape(-1), value[None], value[..., None], value.T])
    elif action == "empty":
        value = np.zeros((0,) * rng.randrange(1, 4), value.dtype)
    return value


def mutate_text(text: str, rng: random.Random) -> str:
    """Return a table or config with some cells, lines or characters changed."""
    for _ in range(rng.randrange(1, 4)):
        lines = text.split("\n")
        i = rng.randrange(len(lines))
        action = rng.choice(["cell", "cell", "cell", "line", "drop", "double", "character"])
        if action == "cell":
            sep = "," if "," in lines[i] else ": "
            cells = lines[i].split(sep)
            cells[rng.randrange(len(cells))] = str(rng.choice(ODD_CELLS))
            lines[i] = sep.join(cells)
        elif action == "line":
            lines[i] = lines[rng.randrange(len(lines))]
        elif action == "drop":
            del lines[i]
        elif action == "double":
            lines.insert(i, lines[i])
        elif lines[i]:
            j = rng.randrange(len(lines[i]))
            lines[i] = (
                lines[i][:j] + rng.choice(['"', ",", "\0", "é", "-", "9", "{", ":"]) + lines[i][j:]
            )
        text = "\n".join(lines)
    return text


ODD_CELLS = [
    "",
    "4e38",
    "1e308",
    "-1e18",
    "nan",
    "inf",
    "x" * 30_000,
    "a\0b",
    "=1+0",
    "9" * 5000,
    "2024-01-01",
    ".inf",
    ".nan",
    "[" * 60,
    "{a: 1}",
    "-1",
    "0",
    "1e-320",
    "True",
    "&a",
    "*a",
    "!!python/object:os.system",
    "?",
    "é",
    '"',
]
