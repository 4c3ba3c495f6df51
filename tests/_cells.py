"""h5ad files as anndata writes them, made with h5py alone."""

import h5py
import numpy as np
from scipy import sparse


def write_h5ad(path, X, obs, genes, obsm=None):
    """``obs``: {column: list of text with None, or numbers}; cells are called c0, c1, ..."""
    text = h5py.string_dtype()
    n = X.shape[0]

    def strings(group, name, values):
        node = group.create_dataset(name, data=list(values), dtype=text)
        node.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})

    def frame(file, name, index, columns):
        group = file.create_group(name)
        group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0",
                            "_index": "_index"})  # fmt: skip
        group.attrs["column-order"] = np.array(list(columns), dtype=text)
        strings(group, "_index", index)
        return group

    with h5py.File(path, "w") as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        if sparse.issparse(X):
            X = sparse.csr_matrix(X)
            group = file.create_group("X")
            group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0"})
            group.attrs["shape"] = np.array(X.shape)
            for key in ("data", "indices", "indptr"):
                group.create_dataset(key, data=getattr(X, key))
        else:
            file.create_dataset("X", data=X).attrs.update(
                {"encoding-type": "array", "encoding-version": "0.2.0"}
            )
        group = frame(file, "obs", [f"c{i}" for i in range(n)], obs)
        for name, values in obs.items():
            if isinstance(values[0], (int, float)):
                group.create_dataset(name, data=values).attrs.update(
                    {"encoding-type": "array", "encoding-version": "0.2.0"}
                )
                continue
            names = sorted({v for v in values if v is not None})
            codes = [-1 if v is None else names.index(v) for v in values]
            column = group.create_group(name)
            column.attrs.update({"encoding-type": "categorical", "encoding-version": "0.2.0",
                                 "ordered": False})  # fmt: skip
            strings(column, "categories", names)
            column.create_dataset("codes", data=np.array(codes, dtype=np.int8))
        frame(file, "var", genes, [])
        for name in ("obsm", "obsp", "layers", "uns", "varm", "varp"):
            file.create_group(name).attrs.update({"encoding-type": "dict",
                                                  "encoding-version": "0.1.0"})  # fmt: skip
        for name, values in (obsm or {}).items():
            file["obsm"].create_dataset(name, data=values).attrs.update(
                {"encoding-type": "array", "encoding-version": "0.2.0"}
            )
