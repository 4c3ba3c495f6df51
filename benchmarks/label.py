"""How `fewfold label` does on files made from sets whose truth is known.

    python benchmarks/label.py files digits --shares 0.02 0.05 --single
    python benchmarks/label.py coverage digits semeion --draws 20 --first 100
    python benchmarks/label.py advice digits --shares 0.02 --draws 8
    python benchmarks/label.py sources semeion --counts 54 100 300 --draws 10 --first 300

``files`` blanks all but a share of the labels, calls the command alone, and compares its error on
the blanked rows with each method of the default config on the same labels, among them the RBF SVM
and scikit-learn's LabelSpreading. ``coverage`` repeats choosing and estimating on many draws of
labels, in this process, with the candidates that take least time. ``sources`` compares ways to
diffuse labels drawn at random, of which some classes have more than others.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from fewfold.labeling.choosing import Estimate, make_folds
from fewfold.labeling.voting import VOTE, combine, held_out_vote

from fewfold.datasets import load
from fewfold.labeling.calibration import calibrate, calibration_error, fit_calibration
from fewfold.labeling.results import compare
from fewfold.pipeline.artifacts import read

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
    config["run"].update(methods=methods, trials=1, labels=[int((y >= 0).sum())])
    config["run"]["trials_per_job"] = 1
    for part in ("methods", "graphs", "manifolds"):  # as the default config has them
        config.pop(part, None)
    # But for a basis that is large enough: the default config stops at 200 labels.
    n_vectors = max(60, int(np.ceil(0.2 * (y >= 0).sum())))
    config["manifolds"] = {"basis": {"n_vectors": n_vectors}}
    other = folder.parent / f"{folder.name}-single"
    (other / "input").mkdir(parents=True, exist_ok=True)
    with read(folder / workspace.FEATURES, "fetch_dataset") as file:
        X, names = file["X"], file.get("feature_names")
    intake = workspace.Intake(
        X, y, "classification", list(data.classes), names, None, "row", image_shape=image_shape
    )
    workspace.write_inputs(other, intake, None, image_shape, {"warnings": []})
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
    with read(found.folder / "results/table/answer.h5", "label_rows") as file:
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
        f"{name}, {100 * share:g} % labelled ({(y >= 0).sum()}), draw {seed}: "
        f"{found.summary['method']} errs {100 * wrong.mean():.2f} %; {words}; "
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


def fast_candidates(X, image_shape=None):
    """Fit functions of the candidates that need little time, sharing their graphs.

    Images do without `metric_svm`, which takes longest and is not chosen for them.
    """
    from functools import partial

    from fewfold.graph.build import build_graph
    from fewfold.labeling import workspace
    from fewfold.methods.base import ManifoldModel
    from fewfold.methods.diffusion.estimator import image_graph_settings
    from fewfold.methods.eigenbasis.basis import compute_basis
    from fewfold.pipeline.training import Inputs, fit_draw

    diffusion, eigenbasis = partial(fit_draw, "diffusion"), partial(fit_draw, "eigenbasis")
    knn, metric_svm = partial(fit_draw, "knn"), partial(fit_draw, "metric_svm")

    graph = build_graph(X)
    basis = compute_basis(graph, 200, "random_walk", random_state=0)
    basis = ManifoldModel(basis, {"n_vectors": 200, "laplacian": "random_walk"})
    plain, with_graph = Inputs(X=X), Inputs(X=X, graph=graph)
    with_basis = Inputs(X=X, graph=graph, manifold=basis)
    near = Inputs(X=X, graph=build_graph(X, n_neighbors=5))
    poisson, spreading = {"method": "poisson", "sources": "classes"}, workspace.SPREADING
    # In the command's order: the first of equals is chosen.
    plain_ones = {
        "diffusion": (diffusion, with_graph, poisson),
        "knn": (knn, plain, {"n_neighbors": "cv"}),
        "metric_svm": (metric_svm, with_graph, {}),
        "spreading": (diffusion, near, spreading),
        "eigenbasis": (eigenbasis, with_basis, {"n_vectors": 0.2}),
    }
    if image_shape is not None:
        del plain_ones["metric_svm"]
        images = Inputs(X=X, graph=build_graph(X, image_graph_settings(image_shape)))
        return {
            "image_diffusion": (diffusion, images, poisson),
            "image_spreading": (diffusion, images, spreading),
        } | plain_ones
    return plain_ones


def one_draw(candidates, data, y, seed):
    """Choose, estimate, calibrate and label on one draw; everything as the command does it."""
    n_classes = len(data.classes)

    def fit(name, labeled):
        function, inputs, settings = candidates[name]
        return function(inputs, labeled, y[labeled], n_classes=n_classes, seed=seed,
                        settings=settings)  # fmt: skip

    folds, rows = make_folds(y, "classification", seed=seed), np.flatnonzero(y >= 0)
    found = {m: held_out(lambda train, m=m: fit(m, train), folds, rows, y) for m in candidates}
    entry, voters, calibrations = held_out_vote(found, y, n_classes)
    if voters:
        found[VOTE] = entry
    comparison = compare(found, "classification", folds.n_folds, seed, n_classes)
    chosen = comparison["chosen"]
    flat = [
        np.array([v for one in found[chosen][k] for v in one]) for k in ("confidence", "losses")
    ]
    slope, shift = fit_calibration(flat[0], flat[1] == 0)
    if chosen == VOTE:
        said = [fit(m, rows) for m in voters]
        sure = [calibrate(o.proba.max(axis=1), *calibrations[m]) for m, o in zip(voters, said)]
        proba = combine([o.labels for o in said], sure, n_classes)
    else:
        proba = fit(chosen, rows).proba
    hidden = y < 0
    wrong = (proba.argmax(axis=1) != data.y)[hidden]
    raw = proba.max(axis=1)[hidden]
    return chosen, Estimate(**comparison["estimate"]), wrong, raw, calibrate(raw, slope, shift)


def held_out(fit, folds, rows, y):
    """What one method says of each labelled row when it is held out."""
    place = {int(r): i for i, r in enumerate(rows)}
    found = {k: [[] for _ in rows] for k in ("losses", "labels", "confidence")}
    for train in folds.splits:
        said = fit(train)
        for r in np.setdiff1d(rows, train):
            i = place[int(r)]
            found["losses"][i].append(float(said.labels[r] != y[r]))
            found["labels"][i].append(float(said.labels[r]))
            found["confidence"][i].append(float(said.proba[r].max()))
    return {"rows": rows, **found, "seconds": 0.0, "failed": []}


def coverage(args):
    print(
        "set, labels: draws whose interval holds the true error; mean true and expected error; "
        "width; calibration error before -> after; error of the least sure tenth, the rest"
    )
    for name in args.sets:
        options = {"n_samples": args.rows, "part": args.part}
        data = load(name, **{k: v for k, v in options.items() if v})
        X = np.asarray(data.X, dtype=np.float32)
        candidates = fast_candidates(X, data.image_shape)
        for share in args.shares:
            found = [
                one_draw(candidates, data, blanked(data, share, seed), seed)
                for seed in range(args.first, args.first + args.draws)
            ]
            hits, truth, said, width, before, after, least, rest = [], [], [], [], [], [], [], []
            for _, e, wrong, raw, sure in found:
                hits.append(e.low <= wrong.mean() <= e.high)
                truth.append(wrong.mean())
                said.append(e.value)
                width.append(e.high - e.low)
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
        graphs = {"5 neighbours": build_graph(X, n_neighbors=5)}
        if data.image_shape is not None:
            graphs["images"] = build_graph(X, image_graph_settings(data.image_shape))
        for title, graph in graphs.items():
            for count in args.counts:
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


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["files", "coverage", "advice", "sources"])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--shares", nargs="+", type=float, default=[0.05])
    parser.add_argument("--counts", nargs="+", type=int, default=[54, 100, 300])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--part", choices=["train", "test"], help="use only this part of the set")
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--single", action="store_true", help="compare with single methods")
    parser.add_argument("--slow", action="store_true", help="with --single: the slow ones too")
    parser.add_argument("--work", help="folder for the files; a temporary one by default")
    args = parser.parse_args(argv)
    what = {"files": files, "coverage": coverage, "advice": advice, "sources": sources}
    what[args.what](args)


if __name__ == "__main__":
    main(sys.argv[1:])
