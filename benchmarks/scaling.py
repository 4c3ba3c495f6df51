"""Time and memory of every stage against the number of points.

    python benchmarks/scaling.py run OUT 1000 2000 4000 8000 16000    # MNIST, one folder per size
    python benchmarks/scaling.py fit OUT                                # data/measured/scaling.csv
    python benchmarks/scaling.py laws                 # the lines of src/fewfold/plan/resources.py
    python benchmarks/scaling.py table                              # Markdown for docs/scaling.md

The runs are ordinary runs of the workflow on one core; what each job took is in the files that
every job leaves beside its log (``*.cost.tsv``). CPU seconds are used throughout: they hold on a
busy machine too.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import yaml

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "data/measured/scaling.csv"
COLUMNS = ("stage", "kind", "n", "d", "fits", "cpu_s", "max_rss_mb", "bytes")

# Methods whose cost grows with the square of the points are run on fewer.
FEW = {"mbed": 8000, "multimanifold": 8000}
METHODS = ["knn", "linear_svm", "rbf_svm", "label_spreading", "diffusion", "invariant_diffusion",
           "eigenbasis", "atlas", "mbed", "multimanifold", "invariant_svm"]  # fmt: skip


def config_of(n: int) -> dict:
    """MNIST on 50 principal components; 100 labels, one draw."""
    data = {
        "source": "mnist", "options": {"n_samples": n, "seed": 0}, "scale": "divide",
        "divide_by": 255, "pca": 50,
    }  # fmt: skip
    methods = [m for m in METHODS if n <= FEW.get(m, n)]
    return {
        "run": {"datasets": ["mnist"], "methods": methods, "labels": [100], "trials": 1},
        # Only its graph is made, for the stage that attaches new rows.
        "datasets": {"mnist": data, "with_new": {**data, "protocol": "inductive"}},
    }


def run(out: Path, sizes: list[int]) -> None:
    for n in sizes:
        folder = out / str(n)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yaml").write_text(yaml.safe_dump(config_of(n), sort_keys=False))
        command = [
            sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"),
            "--workflow-profile", str(ROOT / "workflow/profiles/default"), "--cores", "1",
            "--quiet", "all", "--directory", str(folder), "--configfile",
            str(folder / "config.yaml"), "--", "all", "results/with_new/graphs/euclidean.new.h5",
        ]  # fmt: skip
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        print(f"n = {n}: {'done' if done.returncode == 0 else 'FAILED'}", flush=True)
        if done.returncode:
            print(done.stdout[-3000:], done.stderr[-3000:])


def stage_and_kind(log: Path, config: dict) -> tuple[str, str]:
    """The rule of a cost file, and what kind of graph, manifold, kernel or learner it was for."""
    stage = log.name.split(".")[0].rstrip("0123456789_")
    parts = log.parts
    default = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    for section, key in (("graphs", "metric"), ("manifolds", "type"), ("kernels", "type"),
                         ("methods", "learner")):  # fmt: skip
        if section in parts:
            entry = default[section][parts[parts.index(section) + 1]]
            return stage, entry.get(key, "")
    return stage, ""


OUTPUTS = {
    "fetch_dataset": "results/{d}/raw.h5", "prepare_features": "results/{d}/features.h5",
    "prepare_labels": "results/{d}/labels.h5", "draw_splits": "results/{d}/splits.h5",
    "draw_map": "results/{d}/map.h5", "search_neighbors": "results/{d}/graphs/{x}/neighbors_*.h5",
    "build_graph": "results/{d}/graphs/{x}.h5", "extend_graph": "results/{d}/graphs/{x}.new.h5",
    "fit_manifold": "results/{d}/manifolds/{x}.h5",
    "encode_points": "results/{d}/manifolds/{x}.points.h5",
    "compute_kernel_tile": "results/{d}/kernels/{x}/tile_*.h5",
    "join_kernel": "results/{d}/kernels/{x}.h5",
    "make_copies": "results/{d}/copies/{x}.h5",
    "train_method": "results/{d}/methods/{x}/trials_*.h5",
    "draw_figures": "results/{d}/methods/{x}/figures.h5",
    "evaluate_method": "results/{d}/methods/{x}/metrics.csv",
    "collect_metrics": "results/metrics.csv", "make_report": "results/report/index.html",
}  # fmt: skip


def gather(out: Path) -> list[dict]:
    rows = []
    for folder in sorted(out.iterdir(), key=lambda p: int(p.name)):
        config, n = yaml.safe_load((folder / "config.yaml").read_text()), int(folder.name)
        for path in sorted((folder / "logs").rglob("*.cost.tsv")):
            log = path.relative_to(folder / "logs")
            stage, kind = stage_and_kind(log, config)
            dataset = log.parts[0]
            if dataset == "with_new" and stage != "extend_graph":
                continue  # the same stages on somewhat fewer rows
            name = log.parts[2] if len(log.parts) > 3 else ""
            made = folder.glob(OUTPUTS.get(stage, "none").format(d=dataset, x=name))
            cost = next(csv.DictReader(path.open(), delimiter="\t"))
            rows.append(
                {"stage": stage, "kind": kind, "n": n,
                 "d": 784 if stage in ("fetch_dataset", "prepare_features") else 50, "fits": 1,
                 "cpu_s": float(cost["cpu_s"]), "max_rss_mb": float(cost["max_rss_mb"]),
                 "bytes": sum(p.stat().st_size for p in made)}
            )  # fmt: skip
    return rows


def fit_power(n, y) -> tuple[float, float, float]:
    """``y = base + factor * n**power``: the power with the least relative error."""
    n, y = np.asarray(n, float), np.asarray(y, float)
    best = None
    for power in np.arange(0.0, 2.51, 0.05):
        design = np.column_stack([np.ones_like(n), (n / n.max()) ** power]) / y[:, None]
        coefficients = np.linalg.lstsq(design, np.ones_like(y), rcond=None)[0]
        if (coefficients < 0).any():
            # What does not grow has no power; what has no base is a pure power.
            only = 1 / y if coefficients[1] < 0 else (n / n.max()) ** power / y
            value = (only @ np.ones_like(y)) / (only @ only)
            coefficients = np.array([value, 0.0] if coefficients[1] < 0 else [0.0, value])
        error = np.sum((design @ coefficients - 1) ** 2)
        if best is None or error < best[0] - 1e-9:
            best = (error, coefficients[0], coefficients[1] / n.max() ** power, float(power))
    return best[1:]


def fit(out: Path) -> None:
    rows = gather(out)
    MEASURED.parent.mkdir(parents=True, exist_ok=True)
    with open(MEASURED, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda r: (r["stage"], r["kind"], r["n"])))
    print(f"{len(rows)} jobs written to {MEASURED.relative_to(ROOT)}")


def read_measured() -> dict:
    """{(stage, kind): rows by n} of the committed measurements."""
    found: dict = {}
    with open(MEASURED, newline="") as file:
        for row in csv.DictReader(file):
            values = {k: row[k] if k in ("stage", "kind") else float(row[k]) for k in COLUMNS}
            found.setdefault((row["stage"], row["kind"]), []).append(values)
    return found


def table() -> None:
    print("| stage | of | points | CPU s at the most | power of n | MB at the most | power | MB on "
          "disk |\n| --- | --- | --- | --- | --- | --- | --- | --- |")  # fmt: skip
    for (stage, kind), rows in sorted(read_measured().items()):
        n = [r["n"] for r in rows]
        seconds, memory = (fit_power(n, [r[k] for r in rows]) for k in ("cpu_s", "max_rss_mb"))
        last = rows[-1]
        power = [f"{law[2]:.2f}" if law[1] * max(n) ** law[2] > 0.2 * law[0] else "flat"
                 for law in (seconds, memory)]  # fmt: skip
        print(f"| {stage} | {kind} | {int(min(n))} .. {int(max(n))} | {last['cpu_s']:.1f} | "
              f"{power[0]} | {last['max_rss_mb']:.0f} | {power[1]} | "
              f"{last['bytes'] / 1e6:.1f} |")  # fmt: skip


# What also grows with the columns, and what with the labelled rows.
WITH_D = {"fetch_dataset", "prepare_features", "search_neighbors", "extend_graph", "draw_map",
          "encode_points", "compute_kernel_tile", "make_copies", "atlas", "knn", "linear_svm",
          "label_spreading", "multimanifold"}  # fmt: skip
WITH_LABELS = {"compute_kernel_tile", "make_copies", "svm", "invariant_svm", "atlas_svm"}


def laws() -> None:
    for (stage, kind), rows in sorted(read_measured().items()):
        n = [r["n"] for r in rows]
        numbers = [
            *fit_power(n, [r["cpu_s"] for r in rows]),
            *fit_power(n, [r["max_rss_mb"] for r in rows]),
            rows[-1]["bytes"] / rows[-1]["n"],
        ]
        words = ", ".join(f"{v:.4g}" for v in numbers)
        grows = {stage} if stage in WITH_D | WITH_LABELS else set()
        grows |= {kind} if stage in ("fit_manifold", "train_method", "draw_figures") else set()
        more = ", with_d=True" * bool(grows & WITH_D)
        more += ", with_labels=True" * bool(grows & WITH_LABELS)
        more += f", d={int(rows[0]['d'])}" * (rows[0]["d"] != 50)
        print(f'    ("{stage}", "{kind}"): Law({words}{more}),')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run")
    one.add_argument("out", type=Path)
    one.add_argument("sizes", type=int, nargs="+")
    commands.add_parser("fit").add_argument("out", type=Path)
    commands.add_parser("laws")
    commands.add_parser("table")
    given = parser.parse_args()
    if given.command == "run":
        run(given.out.resolve(), given.sizes)
    elif given.command == "fit":
        fit(given.out.resolve())
    elif given.command == "laws":
        laws()
    else:
        table()


if __name__ == "__main__":
    main()
