"""Tables, arrays and configs with changed contents, written in every format that is read."""

import io
import shutil

import numpy as np

from _fuzz_stages import ROOT, stage
from _mutations import ODD_CELLS, mutate_array, mutate_text

N = 30
RESULTS = ("metrics.csv", "summary.csv", "comparisons.csv")
TEXTS = ("table.csv", "config.yaml", *RESULTS)
FORMATS = (*TEXTS, "table.parquet", "arrays.npz", "arrays.h5", "sparse.npz", "rows.npy",
           "matrix.mtx")  # fmt: skip


def make_table_files(folder):
    """Write the files whose text is changed; the others are written again for each case."""
    rows = "".join(f"{i},{i / 7:.3f},{'pq'[i % 2]},{'uv '[i % 3].strip()}\n" for i in range(N))
    (folder / "table.csv").write_text(f"id,a,kind,label\n{rows}")
    shutil.copy(ROOT / "config/config.yaml", folder / "config.yaml")
    _write_results(folder)
    for name in FORMATS:
        if not (folder / name).exists():
            (folder / name).write_bytes(b"")
    return {name: folder / name for name in FORMATS}


def _write_results(folder):
    """Tables of results, made as the workflow makes them."""
    lines = ["dataset,method,n_labeled,trial,seed,protocol,metric,value,fit_s,predict_s,status"]
    for i in range(16):
        method, budget, trial = ("near", "far")[i % 2], (10, 100)[i // 2 % 2], i // 4
        lines.append(f"blobs,{method},{budget},{trial},{7**i},transductive,error,{i / 50},0.1,,ok")
    (folder / "parts.csv").write_text("\n".join(lines) + "\n")
    stage("collect_metrics", [folder / "parts.csv"], *(folder / name for name in RESULTS))


def write_changed(kind, source, target, rng):
    """Write a changed table, array file or config."""
    if kind in TEXTS:
        target.write_text(mutate_text(source.read_text(), rng))
        return
    _WRITERS[kind](target, rng)
    if rng.random() < 0.1:  # damage of the container itself
        raw = bytearray(target.read_bytes())
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
        target.write_bytes(raw)


def _arrays(rng):
    X = np.random.default_rng(0).normal(size=(N, 4))
    y = np.where(np.arange(N) % 3 < 2, np.arange(N) % 3, -1)
    found = {"X": X, "y": y}
    for name in list(found):
        if rng.random() < 0.5:
            found[name] = mutate_array(found[name], rng)
    if rng.random() < 0.1:
        del found[rng.choice(sorted(found))]
    return found


def _write_npz(target, rng):
    with open(target, "wb") as file:
        np.savez(file, **_arrays(rng))


def _write_hdf5(target, rng):
    import h5py

    with h5py.File(target, "w") as file:
        for name, value in _arrays(rng).items():
            file[name] = value


def _write_npy(target, rng):
    np.save(target, mutate_array(np.random.default_rng(0).normal(size=(N, 4)), rng))


def _write_sparse(target, rng):
    from scipy import sparse

    X = sparse.random_array((N, 6), density=0.4, format="csr", rng=np.random.default_rng(0))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr,
             "shape": np.array(X.shape), "format": np.array(b"csr")}  # fmt: skip
    name = rng.choice(["data", "indices", "indptr", "shape"])
    parts[name] = mutate_array(parts[name], rng)
    with open(target, "wb") as file:
        np.savez(file, **parts)


def _write_matrix(target, rng):
    from scipy import io as scipy_io
    from scipy import sparse

    buffer = io.BytesIO()
    scipy_io.mmwrite(buffer, sparse.coo_array(np.eye(8)[:, :5]))
    target.write_text(mutate_text(buffer.getvalue().decode(), rng))


def _write_parquet(target, rng):
    import pandas as pd

    columns = {
        "id": [str(i) for i in range(N)],
        "a": [i / 7 for i in range(N)],
        "kind": ["pq"[i % 2] for i in range(N)],
        "label": ["uv "[i % 3].strip() or None for i in range(N)],
    }
    for _ in range(rng.randrange(1, 3)):
        name = rng.choice(sorted(columns))
        values = columns[name]
        if isinstance(values[0], str) or rng.random() < 0.3:
            values = [None if v is None else str(v) for v in values]
            values[rng.randrange(N)] = rng.choice(ODD_CELLS)
        else:
            values[rng.randrange(N)] = rng.choice([np.nan, np.inf, 4e38, 1e308, -1e18, 0.0])
        columns[name] = values
    pd.DataFrame(columns).to_parquet(target)


_WRITERS = {
    "table.parquet": _write_parquet, "arrays.npz": _write_npz, "arrays.h5": _write_hdf5,
    "sparse.npz": _write_sparse, "rows.npy": _write_npy, "matrix.mtx": _write_matrix,
}  # fmt: skip


def use_table(kind, path):
    """Read as the commands do; assert that what is read is sound."""
    if kind == "config.yaml":
        from fewfold.config.estimate import estimate
        from fewfold.config.forecast import plan_of

        assert np.isfinite(estimate(plan_of([path])).cpu_s)
        return
    if kind in RESULTS:
        _use_results(kind, path)
        return
    from fewfold.labeling.intake import read_input

    if kind in ("sparse.npz", "rows.npy", "matrix.mtx"):
        found = read_input(path, n_clusters=2)
    else:
        found = read_input(path, "y" if kind.startswith("arrays") else "label")
    values = found.X.data if hasattr(found.X, "tocsr") else found.X
    assert np.isfinite(values).all() and len(found.y) == found.X.shape[0]
    if found.task == "classification":
        assert found.y.min() >= -1 and found.y.max() < len(found.classes)
        assert len(found.labeled) > 0


def _use_results(kind, path):
    """Collect it again, or show it in a report."""
    from _report_content import content

    from fewfold.pipeline.result_tables import read_rows
    from fewfold.report.page import render

    name = kind.removesuffix(".csv")
    found = {name: read_rows(path, name)}
    if name == "metrics":
        made = {n: path.with_name(f"made-{n}") for n in RESULTS}
        stage("collect_metrics", [path], *made.values())
        found = {n.removesuffix(".csv"): read_rows(p, n.removesuffix(".csv"))
                 for n, p in made.items()}  # fmt: skip
    page = render(content(datasets={}, extra_figures=[], **found))
    assert "</html>" in page
