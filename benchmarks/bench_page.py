"""docs/benchmarks.md from the stored results; every figure in it was measured by a command."""

from __future__ import annotations

import csv
import textwrap
from pathlib import Path

import bench
import cost_figures
import numpy as np
from speed_rows import OURS, ROWS

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs/benchmarks.md"
# Ratios of the fastest code that was tried before fewfold was written, to the same peers.
AIMS = {
    ("neighbors_exact", "scikit-learn brute"): 2.0,
    ("neighbors_exact_784", "scikit-learn brute"): 1.89,
    ("neighbors_approximate", "pynndescent"): 0.38,
    ("eigenvectors_20", "scikit-learn spectral_embedding (lobpcg)"): 7.8,
    ("eigenvectors_200", "scipy eigsh"): 10.0,
    ("gradient", "scikit-learn exact t-SNE"): 8.4,
    ("kernel_svm", "scikit-learn GridSearchCV(SVC)"): 2.1,
}
# From so many labels on, a table's own scatter tells more than its neighbor graph; chosen on
# LETTER's training rows (table_choice.py).
TABLE_LABELS = 5 * 26
TITLES = {"digits": "digits", "coil20": "COIL-20", "usps": "USPS", "letter": "LETTER",
          "newsgroups": "20 Newsgroups", "mnist": "MNIST"}  # fmt: skip

PEERS = ["scikit-learn LabelSpreading", "scikit-learn LabelPropagation", "scikit-learn SVC (RBF)",
         "scikit-learn k-NN", "graphlearning Laplace", "graphlearning Poisson",
         "graphlearning random walk", "scikit-learn SelfTraining(SVC)"]  # fmt: skip
# A paper's methods may have entries of their own in the config for images or texts.
OURS_IN_TABLES = ["diffusion", "invariant_diffusion", "eigenbasis", "atlas", "mbed",
                  "multimanifold", "invariant_svm"]  # fmt: skip


def table(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def shown(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2g}"


# ---------------------------------------------------------------- speed


def size_words(size):
    words = {"mnist": "MNIST", "digits": "digits", "curved": "generated"}
    parts = [words[size["source"]]] if "source" in size else []
    parts.append(
        f"{size['n']:,}".replace(",", " ") + (f" × {size['dims']}" if "dims" in size else "")
    )
    parts += [f"{k} = {size[k]}" for k in ("p", "k", "d", "n_labeled") if k in size]
    return ", ".join(parts)


def speed_table(mode):
    """One line per row and peer: ratio, then the least times, memory and quality of both."""
    found = bench.read_results(bench.RESULTS / f"{mode}.csv")
    if not found:
        return "Not measured yet."
    lines = []
    measured = bench.ratios(found)
    wanted = [(row, peer) for row in ROWS for r, peer in measured if r == row]
    for row, peer in wanted:
        ratio, entry = measured[row, peer], ROWS[row]

        def both(key, row=row, peer=peer):
            form = "{:.4f}".format if (key, ROWS[row].quality) == ("quality", "recall") else shown
            return " / ".join(form(bench.least(found, row, c, key)) for c in (OURS, peer))

        repeats = [sum((r["row"], r["contender"]) == (row, c) for r in found) for c in (OURS, peer)]
        lines.append([
            f"{entry.title} ({size_words(entry.sizes[mode])})", peer,
            f"**{ratio:.2f}**" if ratio >= 1 else f"{ratio:.2f}",
            " / ".join(map(str, dict.fromkeys(repeats))),
            both("cpu_s"), both("wall_s"), both("peak_mb"),
            f"{entry.quality}: {both('quality')}",
        ])  # fmt: skip
        lines += compile_line(found, row, peer)
    heads = [
        "work",
        "peer",
        "ratio",
        "repeats",
        "CPU s, ours / peer",
        "wall s",
        "peak MB",
        "quality",
    ]
    return table(heads, lines)


def aim_lines():
    measured = bench.ratios(bench.read_results(bench.RESULTS / "full.csv"))
    return "\n".join(
        f"| {ROWS[row].title}; {peer} | {aim} | {measured[row, peer]:.2f} |"
        for (row, peer), aim in AIMS.items()
        if (row, peer) in measured
    )


def compile_line(found, row, peer):
    """A further line for a peer that compiles when it is first called."""
    if peer != "pynndescent":
        return []
    times = [
        min(
            r["cpu_s"] + r["ready_cpu_s"] for r in found if (r["row"], r["contender"]) == (row, who)
        )
        for who in (OURS, peer)
    ]
    ratio = times[1] / times[0]
    cells = ["the same, with imports and compilation", peer, f"**{ratio:.1f}**"]
    return [[*cells, "", " / ".join(map(shown, times)), "", "", ""]]


# ---------------------------------------------------------------- accuracy


def read_accuracy():
    path = bench.RESULTS / "accuracy.csv"
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return [
            r | {k: float(r[k] or "nan") for k in ("mean", "std", "se")}
            | {"ours": r["ours"] == "True"} | {k: int(r[k]) for k in ("n_labeled", "trials")}
            for r in csv.DictReader(file)
        ]  # fmt: skip


def verdict(ours, theirs):
    """Say how our error stands beside a peer's: "<", "=" within one standard error, or ">"."""
    margin = np.sqrt(np.nansum([ours["se"] ** 2, theirs["se"] ** 2]))
    if ours["mean"] <= theirs["mean"]:
        return "<"
    return "=" if ours["mean"] <= theirs["mean"] + margin else ">"


def advised_method(dataset, budget):
    """Return what we would advise for such data, whatever these draws say."""
    if dataset == "letter":
        return "metric_svm" if budget >= TABLE_LABELS else "diffusion"
    return "diffusion" if dataset == "newsgroups" else "invariant_diffusion"


def accuracy_tables():
    records = read_accuracy()
    parts = []
    for dataset, title in TITLES.items():
        here = [r for r in records if r["dataset"] == dataset]
        if not here:
            continue
        budgets = sorted({r["n_labeled"] for r in here})
        at = {(r["method"], r["n_labeled"]): r for r in here}
        methods = list(
            dict.fromkeys(r["method"] for r in sorted(here, key=lambda r: not r["ours"]))
        )
        ours = {r["method"] for r in here if r["ours"]}
        advised = {b: advised_method(dataset, b) for b in budgets}
        most = max(r["trials"] for r in here)
        lines = [
            [(m if m in ours else f"*{m}*")
             + fewer_draws([r for r in here if r["method"] == m], most)]
            + [cell(at.get((m, b)), m == advised[b]) for b in budgets]
            for m in methods
        ]  # fmt: skip
        lines.append(
            ["advised method beside the best peer"]
            + [stand(at, advised[b], ours, b) for b in budgets]
        )
        parts.append(f"### {title} ({most} draws)\n\n"
                     + table(["labels", *map(str, budgets)], lines)
                     + left_out(dataset, set(methods)))  # fmt: skip
    return "\n\n".join(parts) or "Not measured yet."


def fewer_draws(records, most):
    """Mark a method that was measured on some of the draws only."""
    counts = sorted({r["trials"] for r in records})
    if counts == [most]:
        return ""
    words = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    return f", {words} draw{'s' * (counts[-1] > 1)}"


def left_out(dataset, shown_methods):
    """Say which methods are not in a table: ours in the words of the config, then the peers."""
    import yaml

    skip = {}
    for name in ("benchmark", "benchmark_slow"):
        text = (HERE.parent / f"config/{name}.yaml").read_text(encoding="utf-8")
        skip |= yaml.safe_load(text)["datasets"].get(dataset, {}).get("skip", {})
    missing = [m for m in [*OURS_IN_TABLES, *PEERS] if m not in shown_methods]
    reasons = [f"{m} ({skip[m]})" for m in missing if m in skip]
    unmeasured = [m for m in missing if m not in skip]
    lines = [f"Left out: {', '.join(reasons)}."] if reasons else []
    lines += [f"Not measured: {', '.join(unmeasured)}."] if unmeasured else []
    return "".join(f"\n\n{textwrap.fill(line, 120)}" for line in lines)


def cell(record, is_advised):
    if record is None:
        return ""
    spread = f" ± {record['se']:.2f}" if record["trials"] > 1 else ""
    words = f"{record['mean']:.2f}{spread}"
    return f"**{words}**" if is_advised else words


def stand(at, advised, ours, budget):
    mine = at.get((advised, budget))
    theirs = [r for (m, b), r in at.items() if b == budget and m not in ours]
    if mine is None or not theirs:
        return ""
    best = min(theirs, key=lambda r: r["mean"])
    signs = {"<": "better", "=": "equal (within one s.e.)", ">": "**worse**"}
    return f"{signs[verdict(mine, best)]} than *{best['method'].split()[-1]}*".replace(
        ") than", ") to"
    )


# ---------------------------------------------------------------- start-up and the page


def startup_table():
    path = bench.RESULTS / "startup.csv"
    if not path.exists():
        return "Not measured yet."
    with open(path, newline="") as file:
        rows = [[r["what"], r["cpu_s"], r["loads"]] for r in csv.DictReader(file)]
    return table(["fresh process", "CPU s, median", "slow libraries loaded"], rows)


def render():
    text = (HERE / "page.md").read_text(encoding="utf-8")
    for name, make in {
        "FULL": lambda: speed_table("full"), "QUICK": lambda: speed_table("quick"),
        "AIMS": aim_lines, "LOSSES": lambda: speed_table("losses"),
        "ACCURACY": accuracy_tables, "STARTUP": startup_table,
    }.items():  # fmt: skip
        text = text.replace(f"<!-- {name} -->", make())
    return text


def speed_ratios():
    """Return {work and peer: ratio} of all rows on MNIST and of those where a peer wins."""
    return {
        f"{ROWS[row].title}\n{size_words(ROWS[row].sizes[mode])}; {peer}": round(ratio, 2)
        for mode in ("full", "losses")
        for (row, peer), ratio in bench.ratios(
            bench.read_results(bench.RESULTS / f"{mode}.csv")
        ).items()
        if row in ROWS and mode in ROWS[row].sizes
    }


def write():
    PAGE.write_text(render(), encoding="utf-8")
    cost_figures.draw_speed(speed_ratios())
