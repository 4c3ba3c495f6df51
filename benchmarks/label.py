"""How `fewfold label` does on files made from sets whose truth is known.

    python benchmarks/label.py files digits --shares 0.02 0.05 --single
    python benchmarks/label.py coverage digits semeion --draws 20 --first 100
    python benchmarks/label.py advice digits --shares 0.02 --draws 8
    python benchmarks/label.py sources semeion --counts 54 100 300 --draws 10 --first 300
    python benchmarks/label.py cost --sizes 350x7x34 1500x241x100
    python benchmarks/label.py tables --draws 4 --first 8 --csv FILE
    python benchmarks/label.py numbers|book --csv FILE
    python benchmarks/label.py images fashion digits usps --counts 10 100 1000 --draws 1 --csv FILE

``files`` blanks all but a share of the labels, calls the command alone, and compares its error on
the blanked rows with each method of the default config on the same labels, among them the RBF SVM
and scikit-learn's LabelSpreading. ``coverage`` repeats combining and estimating on many draws of
labels, in this process. ``sources`` compares ways to diffuse labels drawn at random, of which some
classes have more than others. ``cost`` gives the CPU seconds of the command, by part, and again
after one more label, on made-up tables of rows x columns x labels. ``tables``, ``numbers`` and
``book`` run the command on each set and draw (cells already in the file are kept) and print its
error beside five single learners, or beside the published errors (see `command_rows.py`);
``images`` beside the best of its own candidates.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from fewfold.datasets import load
from fewfold.labeling.calibration import calibration_error
from fewfold.labeling.words import method_words
from fewfold.pipeline.artifacts import read
from fewfold.pipeline.stage_files import read_features

SINGLE = ["knn", "linear_svm", "rbf_svm", "label_spreading", "diffusion", "eigenbasis", "atlas"]
SLOW = ["mbed", "multimanifold"]


def blanked(data, share, seed):
    """Codes with all but a share of the labels, drawn at random, set to -1."""
    rng = np.random.default_rng([seed, 7])
    rows = rng.permutation(len(data.y))[: round(share * len(data.y))]
    y = np.full(len(data.y), -1)
    y[rows] = data.y[rows]
    return y


def write_csv(data, y, path):
    frame = pd.DataFrame(np.asarray(data.X), columns=[f"x{j}" for j in range(data.X.shape[1])])
    frame.insert(0, "id", [f"r{i}" for i in range(len(frame))])
    frame["target"] = np.array([*data.classes, ""], dtype=object)[y]
    frame.to_csv(path, index=False)


def run_single(data, y, folder, methods, image_shape, cores):
    """Error of each method of the default config on the same labels, through the workflow."""
    import yaml

    from fewfold.labeling import workspace
    from fewfold.runner import run_snakemake

    # The same prepared files and labels; one draw that gives all labels.
    config = yaml.safe_load((folder / "input/config.yaml").read_text())
    config["run"].update(methods=methods, trials=1, labels=[int((y >= 0).sum())], draw="given")
    config.pop("label")
    config["run"]["trials_per_job"] = 1
    for part in ("methods", "graphs", "manifolds"):  # as the default config has them
        config.pop(part, None)
    # But for a basis that is large enough: the default config stops at 200 labels.
    n_vectors = max(60, int(np.ceil(0.2 * (y >= 0).sum())))
    config["manifolds"] = {"basis": {"n_vectors": n_vectors}}
    other = folder.parent / f"{folder.name}-single"
    (other / "input").mkdir(parents=True, exist_ok=True)
    features = read_features(folder / workspace.FEATURES)
    X, names = features.X, features.feature_names
    intake = workspace.Intake(
        X, y, "classification", list(data.classes), names, None, "row", image_shape=image_shape
    )
    workspace.write_inputs(other, intake, {"warnings": []})
    workspace.write_config(other, config)
    targets = [f"results/table/methods/{m}/trials_0_1.h5" for m in methods]
    run_snakemake(directory=other, cores=cores, targets=targets, echo=lambda text: None,
                  configfiles=[(other / "input/config.yaml").resolve()])  # fmt: skip
    errors, hidden = {}, y < 0
    for method, path in zip(methods, targets):
        with read(other / path, "train_method") as file:
            labels = file[f"labels/0/{(y >= 0).sum()}"]
        errors[method] = float(np.mean(labels[hidden] != data.y[hidden]))
    return errors


def files(args):
    from fewfold.labeling import label

    for name in args.sets:
        data = load(name, **({"part": args.part} if args.part else {}))
        for share in args.shares:
            for seed in range(args.first, args.first + args.seeds):
                y = blanked(data, share, seed)
                work = Path(args.work or tempfile.mkdtemp(prefix="fewfold-label-"))
                path = work / f"{name}_{share}_{seed}.csv"
                work.mkdir(parents=True, exist_ok=True)
                write_csv(data, y, path)
                found = label(path, "target", cores=args.cores, echo=lambda text: None)
                report_file(data, y, found, name, share, seed, args)


def report_file(data, y, found, name, share, seed, args):
    hidden = y < 0
    truth = np.array(data.classes, dtype=object)[data.y]
    table = pd.read_csv(found.folder / "labels.csv", dtype={"label": str}, keep_default_na=False)
    with read(found.folder / "results/table/label/answer.h5", "label_rows") as file:
        raw = file["proba"].max(axis=1)[hidden]
    wrong = (table["label"].to_numpy() != truth)[hidden]
    sure = table["confidence"].to_numpy(float)[hidden]
    order = np.argsort(sure, kind="stable")
    tenth = len(order) // 10
    expected = found.summary["comparison"].get("estimate")
    words = "no estimate"
    if expected:
        inside = expected["low"] <= wrong.mean() <= expected["high"]
        words = (f"expected {100 * expected['value']:.1f} % "
                 f"[{100 * expected['low']:.1f}, {100 * expected['high']:.1f}]"
                 f"{'' if inside else ' MISSED'}")  # fmt: skip
    print(
        f"{name}, {100 * share:g} % labeled ({(y >= 0).sum()}), draw {seed}: "
        f"{method_words(found.summary['comparison'])} err {100 * wrong.mean():.2f} %; {words}; "
        f"least sure tenth {100 * wrong[order[:tenth]].mean():.1f} %, "
        f"the rest {100 * wrong[order[tenth:]].mean():.2f} %; "
        f"calibration error {100 * calibration_error(raw, ~wrong):.1f} -> "
        f"{100 * calibration_error(sure, ~wrong):.1f} points",
        flush=True,
    )
    if args.single:
        methods = list(SINGLE)
        shape = data.image_shape
        if shape is not None:
            methods.insert(0, "invariant_diffusion")
        if args.slow:
            methods += SLOW if shape is None else [*SLOW, "invariant_svm"]
        errors = run_single(data, y, found.folder, methods, shape, args.cores)
        for method, error in sorted(errors.items(), key=lambda item: item[1]):
            print(f"    {method:22s} {100 * error:6.2f} %", flush=True)


def make_task(data, seed=0):
    """Return rows, graphs and members as the command has them; labels are filled in per draw."""
    from fewfold.graph.build import GraphSettings, build_graph
    from fewfold.labeling import workspace
    from fewfold.labeling.examining import Task
    from fewfold.labeling.first_weights import explained_by_neighbors
    from fewfold.methods.members import DataShape, members_for

    X, shape = np.asarray(data.X, dtype=np.float32), data.image_shape
    members = members_for(DataShape("classification", len(X), 100, has_images=shape is not None))
    graphs = {
        name: build_graph(
            X,
            GraphSettings.from_dict(workspace.graph_settings(name, len(X), shape)).for_images(
                shape
            ),
        )
        for name in {m.graph for m in members if m.graph}
    }
    task = Task(
        X, np.full(len(X), -1), "classification", len(data.classes), seed, graphs,
        image_shape=shape, explained=explained_by_neighbors(X),
    )  # fmt: skip
    return task, members


def one_draw(task, members, data, y):
    """Combine, estimate, calibrate and label on one draw; everything as the command does it."""
    from dataclasses import replace

    from fewfold.labeling.answering import answer
    from fewfold.labeling.examining import examine

    drawn = replace(task, y=y)
    evidence = [examine(member, drawn) for member in members]
    _, arrays, notes = answer(members, evidence, drawn, data.classes)
    hidden = y < 0
    wrong = (arrays["label"] != data.y)[hidden]
    raw = arrays["proba"].max(axis=1)[hidden]
    return notes["comparison"]["estimate"], wrong, raw, arrays["confidence"][hidden]


def coverage(args):
    print(
        "set, labels: draws whose interval holds the true error; mean true and expected error; "
        "width; calibration error before -> after; error of the least sure tenth, the rest"
    )
    for name in args.sets:
        options = {"n_samples": args.rows, "part": args.part}
        data = load(name, **{k: v for k, v in options.items() if v})
        task, members = make_task(data)
        for share in args.shares:
            found = [
                one_draw(task, members, data, blanked(data, share, seed))
                for seed in range(args.first, args.first + args.draws)
            ]
            hits, truth, said, width, before, after, least, rest = [], [], [], [], [], [], [], []
            for e, wrong, raw, sure in found:
                hits.append(e["low"] <= wrong.mean() <= e["high"])
                truth.append(wrong.mean())
                said.append(e["value"])
                width.append(e["high"] - e["low"])
                before.append(calibration_error(raw, ~wrong))
                after.append(calibration_error(sure, ~wrong))
                order, k = np.argsort(sure, kind="stable"), len(wrong) // 10
                least.append(wrong[order[:k]].mean())
                rest.append(wrong[order[k:]].mean())
            p = [100 * float(np.mean(v)) for v in (truth, said, width, before, after, least, rest)]
            print(
                f"{name}, {round(share * len(data.y))}: {sum(hits)}/{len(hits)}; "
                f"{p[0]:.1f} % and {p[1]:.1f} %; {p[2]:.1f}; {p[3]:.1f} -> {p[4]:.1f}; "
                f"{p[5]:.1f} %, {p[6]:.1f} %",
                flush=True,
            )


def advice(args):
    """Error after 20 more labels: those that `label_next.csv` would name, or any."""
    for name in args.sets:
        data = load(name)
        for share in args.shares:
            p = 100 * np.mean(advised_errors(data, share, args.draws), axis=0)
            print(
                f"{name}, {round(share * len(data.y))} labels, diffusion: {p[0]:.2f} %; 20 more "
                f"at random {p[1]:.2f} %; 20 more as advised {p[2]:.2f} % ({args.draws} draws)"
            )


def advised_errors(data, share, draws):
    from fewfold.graph.build import build_graph
    from fewfold.labeling.advice import rows_to_label
    from fewfold.methods.diffusion.estimator import diffuse

    X, graph = np.asarray(data.X, dtype=np.float32), build_graph(np.asarray(data.X, np.float32))

    def label_all(y):
        rows = np.flatnonzero(y >= 0)
        proba, _ = diffuse(graph.W, rows, y[rows], len(data.classes))
        return np.mean(proba.argmax(axis=1)[y < 0] != data.y[y < 0]), proba

    errors = []
    for seed in range(draws):
        y = blanked(data, share, seed)
        before, proba = label_all(y)
        known, hidden = np.flatnonzero(y >= 0), np.flatnonzero(y < 0)
        advised = rows_to_label(X, 1 - proba.max(axis=1), graph.scales, known=known)
        any_rows = np.random.default_rng(seed).permutation(hidden)[: len(advised)]
        more = []
        for rows in (any_rows, advised):
            fuller = y.copy()
            fuller[rows] = data.y[rows]
            more.append(label_all(fuller)[0])
        errors.append([before, *more])
    return errors


WAYS = {
    "Poisson, per label": {"method": "poisson"},
    "Poisson, per class": {"method": "poisson", "sources": "classes"},
    "spreading, alpha 0.995": {"method": "spreading"},
    "spreading, alpha 0.9": {"method": "spreading", "alpha": 0.9},
}


def sources(args):
    """Errors of several ways to diffuse, on the plain graph and on that of images."""
    from fewfold.graph.build import build_graph
    from fewfold.methods.diffusion.estimator import diffuse, image_graph_settings

    for name in args.sets:
        data = load(name, **({"part": args.part} if args.part else {}))
        X = np.asarray(data.X, dtype=np.float32)
        graphs = {"5 neighbors": build_graph(X, n_neighbors=5)}
        if data.image_shape is not None:
            graphs["images"] = build_graph(X, image_graph_settings(data.image_shape))
        for title, graph in graphs.items():
            for count in args.counts or (54, 100, 300):
                found = {way: [] for way in WAYS}
                for seed in range(args.first, args.first + args.draws):
                    y = blanked(data, count / len(X), seed)
                    rows, hidden = np.flatnonzero(y >= 0), y < 0
                    for way, options in WAYS.items():
                        proba, _ = diffuse(graph.W, rows, y[rows], len(data.classes), **options)
                        said = proba.argmax(axis=1)
                        found[way].append(np.mean(said[hidden] != data.y[hidden]))
                words = "; ".join(f"{way} {100 * np.mean(e):.2f} %" for way, e in found.items())
                print(f"{name}, graph of {title}, {count} labels: {words}", flush=True)


def cost(args):
    """CPU seconds of the command on made-up tables, by part; again with one more label."""
    import resource
    import subprocess

    def spent(*words):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "fewfold.cli", *map(str, words)]
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    for size in args.sizes:
        n, d, m = map(int, size.split("x"))
        rng = np.random.default_rng(0)
        code = np.arange(n) % 3
        frame = pd.DataFrame(rng.normal(size=(n, d)) + 2 * np.eye(3, d)[code])
        frame.columns = [f"x{j}" for j in range(d)]
        order = rng.permutation(n)
        work = Path(tempfile.mkdtemp(prefix="fewfold-cost-"))
        for title, count, words in (
            ("first run", m, ()),
            ("one more label", m + 1, ()),
            ("--quick", m, ("--quick", "--out", work / "quick")),
        ):
            shown = np.array(["a", "b", "c"], dtype=object)[code]
            shown[order[count:]] = ""
            frame.assign(kind=shown).to_csv(work / "t.csv", index=False)
            total = spent("label", work / "t.csv", "--target", "kind", "--cores", 1, *words)
            logs = (work / "quick" if words else work / "t-labels") / "logs"
            parts = {
                file.name.split(".")[0]: float(file.read_text().split()[4])
                for file in sorted(logs.rglob("*.cost.tsv"))
            }
            if count > m:
                del parts["prepare_candidates"]  # of the run before
            listed = ", ".join(f"{name} {seconds:.1f}" for name, seconds in parts.items())
            rest = total - sum(parts.values())
            print(f"{size}, {title}: {total:.1f} CPU s ({listed}, the rest {rest:.1f})", flush=True)


def cells(args):
    """Errors of the command on tables, the SSL-book sets or images, kept in a file."""
    import warnings

    from command_rows import run, run_images

    warnings.simplefilter("ignore")
    draws = range(12) if args.what == "book" else range(args.first, args.first + args.draws)
    file = Path(args.csv or f"results/label-{args.what}.csv")
    if args.what == "images":
        run_images(args.sets, args.rows, args.counts, draws, file)
    else:
        run(args.what, draws, file)


WHAT = {
    "files": files, "coverage": coverage, "advice": advice, "sources": sources, "cost": cost,
    "tables": cells, "numbers": cells, "book": cells, "images": cells,
}  # fmt: skip


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=list(WHAT))
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--sizes", nargs="+", default=["350x7x34", "1500x241x100"])
    parser.add_argument("--shares", nargs="+", type=float, default=[0.05])
    parser.add_argument("--counts", nargs="+", type=int)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--rows", type=int, help="only so many rows of a set")
    parser.add_argument("--part", choices=["train", "test"], help="use only this part of the set")
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--single", action="store_true", help="compare with single methods")
    parser.add_argument("--slow", action="store_true", help="with --single: the slow ones too")
    parser.add_argument("--csv", help="file of the cells of tables, numbers and book")
    parser.add_argument("--work", help="folder for the files; a temporary one by default")
    args = parser.parse_args(argv)
    WHAT[args.what](args)


if __name__ == "__main__":
    main(sys.argv[1:])
