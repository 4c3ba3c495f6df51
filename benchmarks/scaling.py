"""Time, memory and storage of every stage against points, labels and columns.

    python benchmarks/scaling.py run OUT 1000 2000 4000 11000 30000   # MNIST, one folder per size
    python benchmarks/scaling.py run OUT 1000 --trials 4              # several fits in one job
    python benchmarks/scaling.py fit OUT                              # data/measured/scaling.csv
    python benchmarks/scaling.py run OUT 1000 --methods mbed --targets FILE   # FILE alone
    python benchmarks/scaling.py fit OUT --only sne                   # replaces these rows alone
    python benchmarks/scaling.py run OUT 100000 1000000 --many        # curved manifolds, 50 columns
    python benchmarks/scaling.py run OUT 100000 1000000 --tiles       # their graph, in four tiles
    python benchmarks/scaling.py fit OUT --stages index_neighbors     # other stages stay
    python benchmarks/scaling.py cost-model                           # config/cost_model.csv
    python benchmarks/scaling.py table                          # Markdown for docs/notes/scaling.md
    python benchmarks/scaling.py plan 1000000 100000000               # cost models, larger sizes

The runs are ordinary runs of the workflow on one core; what each job took is in the files that
every job leaves beside its log (``*.cost.tsv``). CPU seconds are used throughout: they hold on a
busy machine too. `--labels` and `--trials` vary one thing at a time, the other staying at 100
labels and one draw.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import yaml
from large import read_latest
from scipy.optimize import nnls

from fewfold.config.resources import MOST_FITTED, PIXELS, RAW, Sizes, columns_measured, need
from fewfold.datasets import describe
from fewfold.graph.settings import is_approximate
from fewfold.pipeline import layout

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "data/measured/scaling.csv"
COST_MODELS = ROOT / "src/fewfold/config/cost_model.csv"
COLUMNS = ("stage", "kind", "n", "d", "labels", "fits", "cpu_s", "max_rss_mb", "bytes")
BASE = {"labels": 100, "trials": 1, "pca": 50}

METHODS = ["knn", "linear_svm", "rbf_svm", "label_spreading", "diffusion", "invariant_diffusion",
           "eigenbasis", "atlas", "mbed", "multimanifold", "invariant_svm"]  # fmt: skip


def config_of(n: int, methods: list[str], labels: int, trials: int, pca: int) -> dict:
    """MNIST on its principal components."""
    data = {
        "source": "mnist", "options": {"part": "train", "n_samples": n, "seed": 0},
        "scale": "divide",
        "divide_by": 255, "pca": pca,
    }  # fmt: skip
    return {
        "run": {"datasets": ["mnist"], "methods": methods, "labels": [labels], "trials": trials},
        # Only its graph is made, for the stage that attaches new rows.
        "datasets": {"mnist": data, "with_new": {**data, "protocol": "inductive"}},
    }


# What is expected to scale: the methods that look at no pairs of rows.
MANY = ["knn", "linear_svm", "diffusion", "eigenbasis"]


def config_of_many(
    n: int, methods: list[str], labels: int, trials: int, pca: int, *, tiles: int = 1
) -> dict:
    """Curved manifolds in as many columns as the others have components, none to be found."""
    data = {
        "source": "curved_manifolds", "scale": "standard",
        "options": {"n_samples": n, "n_features": pca, "seed": 0},
    }  # fmt: skip
    return {
        "run": {"datasets": ["many"], "methods": methods, "labels": [labels], "trials": trials},
        "datasets": {"many": data},
        **({"tile_rows": -(-n // tiles)} if tiles > 1 else {}),
    }


TARGETS = ("all", "results/with_new/graphs/euclidean.new.h5")
GRAPH = ("results/many/graphs/euclidean.h5",)


def run(out: Path, sizes: list[int], variations: dict, **more) -> None:
    settings = [BASE | {key: value} for key, values in variations.items() for value in values]
    for n in sizes:
        for setting in settings or [BASE]:
            run_one(out, n, setting, **more)


def run_one(out: Path, n: int, setting: dict, *, methods, targets=(), make=config_of) -> None:
    changed = [f"{key}-{value}" for key, value in setting.items() if value != BASE[key]]
    folder = out / "_".join([str(n), *changed])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(
        yaml.safe_dump(make(n, methods, **setting), sort_keys=False)
    )
    command = [
        sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"),
        "--workflow-profile", str(ROOT / "workflow/profiles/default"), "--cores", "1",
        "--quiet", "all", "--directory", str(folder), "--configfile",
        str(folder / "config.yaml"), "--", *(targets or TARGETS),
    ]  # fmt: skip
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    print(f"{folder.name}: {'done' if done.returncode == 0 else 'FAILED'}", flush=True)
    if done.returncode:
        print(done.stdout[-3000:], done.stderr[-3000:])


def kind_of(stage: str, target: str) -> str:
    """What kind of graph, manifold, kernel or learner a job of a stage was for, or ""."""
    default = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    section, _, name = target.partition("/")
    if section == "manifolds" and name not in default[section]:
        return name.partition("_")[0]  # implied by a method: its name begins with its type
    keys = {"graphs": "metric", "manifolds": "type", "kernels": "type", "methods": "learner"}
    return default[section][name].get(keys[section], "") if stage in WITH_KIND else ""


# Stages whose cost depends on the kind of graph, manifold, kernel or learner.
WITH_KIND = {"search_neighbors", "extend_graph", "fit_manifold", "compute_kernel_tile",
             "train_method"}  # fmt: skip


def made_by(folder: Path, stage: str, dataset: str, target: str) -> list[Path]:
    """The files that jobs of a stage wrote; the target is as in `layout.CostFile`."""
    name = target.rpartition("/")[2]
    values = {key: "*" if key in ("tile", "first", "last") else name for key in layout.WILDCARDS}
    templates = layout.OUTPUTS[stage].values()
    return [p for t in templates for p in folder.glob(t.format(**values | {"dataset": dataset}))]


def gather(out: Path) -> list[dict]:
    """Return a row for each job, and one for all tiles of a search together."""
    rows = []
    for folder in sorted(out.iterdir()):
        config = yaml.safe_load((folder / "config.yaml").read_text())
        trials, (name,) = config["run"]["trials"], config["run"]["datasets"]
        data = config["datasets"][name]
        described = describe(data["source"], **data["options"])
        rows_of, columns = described.n_samples, described.n_features
        for path, stage, dataset, target in layout.cost_files(folder / "logs"):
            if dataset == "with_new" and stage != "extend_graph":
                continue  # the same stages on somewhat fewer rows
            if target == "methods/light":
                continue  # several methods in one job
            if stage == "fetch_dataset" and name != "mnist":
                continue  # generated, not read: another cost
            if stage == "build_graph" and is_approximate("auto", rows_of):
                continue  # benchmarks/large.py graph
            made = made_by(folder, stage, dataset, target)
            cost = next(csv.DictReader(path.open(), delimiter="\t"))
            labels = config["run"]["labels"][0]
            whole = stage in ("compute_kernel_tile", "make_copies")  # the rows that any draw labels
            is_tile = stage == "search_neighbors" and is_approximate("auto", rows_of)
            kind = "approximate" if is_tile else kind_of(stage, target)
            is_raw = columns_measured(stage, kind) != BASE["pca"]
            row = (
                {"stage": stage, "kind": kind, "n": rows_of,
                 "d": columns if is_raw else data.get("pca", columns),
                 "labels": labels * trials if whole else labels,
                 "fits": trials if stage == "train_method" else 1,
                 "cpu_s": float(cost["cpu_s"]), "max_rss_mb": float(cost["max_rss_mb"]),
                 "bytes": sum(p.stat().st_size for p in made)}
            )  # fmt: skip
            if is_tile and rows and rows[-1]["n"] == rows_of and rows[-1]["stage"] == stage:
                rows[-1]["cpu_s"] += row["cpu_s"]
                rows[-1]["max_rss_mb"] = max(rows[-1]["max_rss_mb"], row["max_rss_mb"])
            else:
                rows.append(row)
    return rows


def fit(out: Path, only=None, stages=None) -> None:
    rows = [row for row in gather(out) if not only or row["kind"] in only]
    rows = [row for row in rows if not stages or row["stage"] in stages]
    if only or stages:
        measured = {(row["stage"], row["kind"]) for row in rows}
        rows += [r for key, found in read_measured(str).items() if key not in measured
                 for r in found]  # fmt: skip
    MEASURED.parent.mkdir(parents=True, exist_ok=True)
    with open(MEASURED, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            sorted(rows, key=lambda r: [str(r["stage"]), str(r["kind"]), float(r["n"])])
        )
    print(f"{len(rows)} jobs written to {MEASURED.relative_to(ROOT)}")


def read_measured(number=float) -> dict:
    """{(stage, kind): rows by n} of the committed measurements."""
    found: dict = {}
    with open(MEASURED, newline="") as file:
        for row in csv.DictReader(file):
            values = {k: row[k] if k in ("stage", "kind") else number(row[k]) for k in COLUMNS}
            found.setdefault((row["stage"], row["kind"]), []).append(values)
    return found


# Read all columns of all rows: their growth is taken to be in step with the columns, of which
# the runs vary nothing. Likewise the rows of kernels and copies are labeled ones.
WITH_COLUMNS = {*RAW, "search_neighbors", "extend_graph", "encode_points", "compute_kernel_tile",
                "make_copies", "draw_map"}  # fmt: skip
# Copies are made of labeled rows alone, so their file grows with the labels. What time and memory
# grow by with the points is for reading them, and must not be multiplied by the labels.
WITH_LABELS = {"compute_kernel_tile": ("cpu_s", "max_rss_mb", "bytes"), "make_copies": ("bytes",)}


# Stages that look at pairs of points may grow with their square; one does so by design.
PAIRS = {"search_neighbors", "extend_graph", "mbed", "multimanifold", "hellinger"}
FREE = (0.0, *np.arange(0.25, 2.51, 0.05))
EXACT = ("search_neighbors", "euclidean")
# Up to so many rows SNE holds all pairs, above only lists of neighbors. No power of n is both: the
# model is the most that a small job took, and a line through the large ones.
ENVELOPE = {("fit_manifold", "sne"): 5000}


def allowed_powers(what: str, key: tuple) -> tuple:
    """The powers of n that a cost model may have: what a fit to a decade of n cannot know.

    Memory and files hold rows, and nothing keeps a matrix of all pairs. Powers below a half
    cannot be told from the noise of a start of Python.
    """
    if what != "cpu_s":
        return (0.0, 1.0)
    if key == EXACT:
        return (2.0,)
    return (0.0, *np.arange(0.5, 2.01 if set(key) & PAIRS else 1.31, 0.05))


def fit_cost_model(rows: list[dict], what: str, key: tuple = ("", ""), powers=None) -> tuple:
    """``base + factor fits (n / 1000)^a (labels / 100)^b (d / D)^c``, least relative error.

    Returns (base, factor, a, b, c).
    """
    column = {k: np.array([r[k] for r in rows]) for k in ("n", "labels", "d", "fits", what)}
    y = np.maximum(column[what], 1e-3)
    fits = column["fits"] if what != "max_rss_mb" else np.ones(len(rows))
    b = float(what in WITH_LABELS.get(key[0], ()))
    c = float(key[0] in WITH_COLUMNS)
    columns = (column["d"] / columns_measured(*key)) ** c
    best = None
    for a in allowed_powers(what, key) if powers is None else powers:
        grows = fits * (column["n"] / 1000) ** a * (column["labels"] / 100) ** b * columns
        design = np.column_stack([np.ones_like(y), grows]) / y[:, None]
        if np.ptp(grows) == 0:  # nothing varies: it is all base, or in a file of rows all rows
            design[:, 0 if what == "bytes" and b else 1] = 0
        (base, factor), error = nnls(design, np.ones_like(y))
        # Of cost models that fit alike, the one that promises the least growth.
        error = error**2 / len(y) + 1e-4 * a
        if best is None or error < best[0]:
            best = (error, base, factor, a, b, c)
    _, base, factor, *found = best
    if key in ENVELOPE:
        is_small, found = column["n"] <= ENVELOPE[key], [1.0, b, c]
        base = float(y[is_small].max())
        factor = float((y / (column["n"] / 1000))[~is_small].max())
    return (base, factor, *(found if factor else (0.0, 0.0, 0.0)))


def table() -> None:
    print(
        "| stage | of | points | CPU s, fewest and most points | grows as n to the | "
        "MB, fewest and most | grows as n to the | MB on disk, most |\n" + "| --- " * 8 + "|"
    )
    for (stage, kind), rows in sorted(read_measured().items()):
        plain = [r for r in rows if (r["labels"], r["fits"]) == (100, 1) and r["d"] in (50, 784)]
        sizes = sorted({r["n"] for r in plain})
        ends = [[r for r in plain if r["n"] == n][0] for n in (sizes[0], sizes[-1])]
        cells = []
        for what, form in (("cpu_s", "{:.1f}"), ("max_rss_mb", "{:.0f}")):
            base, factor, power, *_ = fit_cost_model(rows, what, (stage, kind), FREE)
            grown = factor * (sizes[-1] / 1000) ** power
            cells.append(" .. ".join(form.format(end[what]) for end in ends))
            cells.append(f"{power:.2f}" if grown > 0.1 * base and power else "(flat)")
        points = f"{int(sizes[0])} .. {int(sizes[-1])} ({len(sizes)} sizes)"
        print(f"| {stage} | {kind} | {points} | {' | '.join(cells)} | "
              f"{ends[1]['bytes'] / 1e6:.2f} |")  # fmt: skip


def measured_at_large() -> dict:
    """{(stage, kind): rows} of benchmarks/large.py, for what it measured up to 10^6."""
    search = ("search_neighbors", PIXELS)
    named = {
        "deformed digits, invariant graph": search,
        "deformed digits, candidates ranked": search,
        "deformed digits, explored": ("build_graph", "exploring"),
        "atlas, fitted": ("fit_manifold", "atlas"),
    }
    found: dict = {}
    latest = read_latest()
    for (what, n), row in latest.items():
        if what.endswith("invariant graph") and ("deformed digits, explored", n) in latest:
            continue  # more than the search
        if what in named and n <= MOST_FITTED.get(named[what], n):
            values = {k: float(row[k]) for k in ("cpu_s", "max_rss_mb")}
            found.setdefault(named[what], []).append(
                {
                    "n": float(n),
                    "d": float(columns_measured(*named[what])),
                    "labels": 100.0,
                    "fits": 1.0,
                    **values,
                }
            )
    return found


def label_models() -> list[str]:
    """Lines for the jobs of `fewfold label` on many rows: straight ones through what was measured.

    Below `fewfold.config.resources.MANY_ROWS` rows other candidates run, which look at pairs.
    """
    found: dict = {}
    for (what, n), row in read_latest().items():
        if what.startswith("label: "):
            stage, _, kind = what.removeprefix("label: ").partition(" ")
            found.setdefault((stage, kind), {})[n] = row
    lines = []
    for key, rows in sorted(found.items()):
        few, many = min(rows), max(rows)
        if few == many:
            continue
        for what in ("cpu_s", "max_rss_mb"):
            low, high = (float(rows[n][what]) for n in (few, many))
            factor = max(0.0, (high - low) / (many - few) * 1000)
            model = (max(0.0, low - factor * few / 1000), factor, 1.0, 0.0, 0.0)
            lines.append(",".join([*key, what, *(f"{v:.4g}" for v in model)]))
        lines.append(",".join([*key, "bytes", "0", "1e+05", "1", "0", "0"]))
    return lines


def cost_models_text() -> str:
    """The lines of src/fewfold/config/cost_model.csv."""
    lines = ["stage,kind,what,base,factor,n,labels,d"]
    large, measured = measured_at_large(), read_measured()
    for key in sorted({*large, *measured}):
        rows = measured.get(key, [])
        for what in ("cpu_s", "max_rss_mb", "bytes"):
            if what == "bytes":
                used = rows or measured[key[0], ""]
            else:
                used = rows + large.get(key, [])
            model = fit_cost_model(used, what, key)
            lines.append(",".join([*key, what, *(f"{v:.4g}" for v in model)]))
    return "\n".join([*lines, *label_models(), ""])


def cost_models() -> None:
    COST_MODELS.write_text(cost_models_text(), encoding="utf-8")
    print(f"written to {COST_MODELS.relative_to(ROOT)}")


def plan(sizes: list[int]) -> None:
    """Every stage at sizes that nobody ran: 50 columns (784 as fetched), 1000 labels, one fit."""
    from fewfold.config.forecast import duration

    heads = [f"{n:.0e}: CPU | memory GB | disk GB".replace("e+0", "e") for n in sizes]
    print(f"| stage | of | {' | '.join(heads)} |\n" + "| --- " * (2 + 3 * len(sizes)) + "|")
    for stage, kind in sorted(read_measured()):
        cells = []
        for n in sizes:
            found = need(stage, Sizes(n, columns_measured(stage, kind), 1000), kind)
            cells += [duration(found.cpu_s), f"{found.memory_mb / 1e3:.3g}",
                      f"{found.storage / 1e9:.3g}"]  # fmt: skip
        print(f"| {stage} | {kind} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run")
    one.add_argument("out", type=Path)
    one.add_argument("sizes", type=int, nargs="+")
    one.add_argument("--methods", nargs="+")
    one.add_argument("--many", action="store_true", help="generated rows instead of MNIST")
    one.add_argument("--tiles", action="store_true", help="their graph alone, in four tiles")
    for key in BASE:
        one.add_argument(f"--{key}", type=int, nargs="*", default=[])
    one.add_argument("--targets", nargs="+", help="files or rules to make")
    two = commands.add_parser("fit")
    two.add_argument("out", type=Path)
    two.add_argument("--only", nargs="+", help="kinds that are measured again; others stay")
    two.add_argument("--stages", nargs="+", help="stages that are measured again; others stay")
    commands.add_parser("cost-model")
    commands.add_parser("table")
    commands.add_parser("plan").add_argument("sizes", type=int, nargs="+")
    given = parser.parse_args()
    if given.command == "run":
        is_many = given.many or given.tiles
        run(
            given.out.resolve(),
            given.sizes,
            {key: getattr(given, key) for key in BASE},
            make=partial(config_of_many, tiles=4 * given.tiles) if is_many else config_of,
            methods=given.methods or (MANY if is_many else METHODS),
            targets=given.targets or (GRAPH if given.tiles else ("all",) if is_many else TARGETS),
        )
    elif given.command == "fit":
        fit(given.out.resolve(), given.only, given.stages)
    elif given.command == "cost-model":
        cost_models()
    elif given.command == "plan":
        plan(given.sizes)
    else:
        table()


if __name__ == "__main__":
    main()
