"""The config reference, written from the schema so that it cannot fall behind it.

``python benchmarks/pages/config_reference.py`` prints docs/config.md.
"""

from __future__ import annotations

from pathlib import Path

from prose import wrapped

from fewfold.config.schema import read_schema

HEAD = """# Config reference

Written by `python benchmarks/pages/config_reference.py > docs/config.md` from
`workflow/schemas/config.schema.yaml` and the records of the methods; a test keeps them equal.
Defaults are in `config/config.yaml`, which a config of your own needs only to differ from:
mappings merge, lists replace. Unknown keys, names that do not exist and chains that do not fit
together are errors before any job starts.
"""

SECTIONS = {
    "run": "What runs: datasets x methods x label budgets x trials.",
    "datasets": "Each entry names a source and how its rows are prepared. `labels`, `trials`, "
    "`draw`, `evaluate` and `protocol` override those of `run`.",
    "graphs": "Neighbor graphs; two methods that name the same one share its file.",
    "manifolds": "Models of the data's shape, learned without labels.",
    "kernels": "Kernel matrices, computed in tiles of rows and kept in HDF5.",
    "methods": "A learner and the graph, manifold or kernel it works on.",
    "label": "Written by `fewfold label` for its own rules; other runs leave it out.",
}


def resolve(schema: dict, node: dict) -> dict:
    """Follow a ``$ref``; what stands beside it wins."""
    while "$ref" in node:
        target = schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
        node = {**target, **{k: v for k, v in node.items() if k != "$ref"}}
    return node


def allowed(schema: dict, node: dict) -> str:
    """Describe the values a key takes."""
    node = resolve(schema, node)
    if "enum" in node:
        return ", ".join(f"`{v}`" for v in node["enum"])
    if "const" in node:
        return f"`{node['const']}`"
    if "anyOf" in node:
        return " or ".join(allowed(schema, option) for option in node["anyOf"])
    kind = node.get("type", "any")
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    if kind == "array":
        return "list of " + allowed(schema, node.get("items", {}))
    for key, word in (("minimum", "from"), ("exclusiveMinimum", "above")):
        if key in node:
            kind += f" {word} {node[key]}"
    for key, word in (("maximum", "to"), ("exclusiveMaximum", "below")):
        if key in node:
            kind += f" {word} {node[key]}"
    return kind


def table(schema: dict, node: dict) -> list[str]:
    """Return the Markdown table of an object's keys."""
    lines = ["| key | values | meaning |", "| --- | --- | --- |"]
    for key, value in node.get("properties", {}).items():
        meaning = resolve(schema, value).get("description", "")
        lines.append(f"| `{key}` | {allowed(schema, value)} | {meaning} |")
    return lines


def reference(schema: dict) -> str:
    """Return the whole reference as Markdown."""
    alone = {k: v for k, v in schema["properties"].items() if k not in SECTIONS}
    lines = [HEAD, *table(schema, {"properties": alone}), ""]
    for section, words in SECTIONS.items():
        lines += [f"## {section}", "", words, ""]
        node = resolve(schema, schema["properties"][section])
        entry = (
            node if section in ("run", "label") else resolve(schema, node["additionalProperties"])
        )
        if "allOf" not in entry:
            lines += [*table(schema, entry), ""]
            continue
        for branch in entry["allOf"]:
            key, value = next(iter(branch["if"]["properties"].items()))
            lines += [f"### {key}: {value['const']}", ""]
            lines += [*table(schema, resolve(schema, branch["then"])), ""]
    return wrapped("\n".join(lines).rstrip() + "\n")


def main(root: Path) -> None:
    """Print the reference of a checkout's schema."""
    print(reference(read_schema(root)), end="")


if __name__ == "__main__":
    main(Path(__file__).resolve().parents[2])
