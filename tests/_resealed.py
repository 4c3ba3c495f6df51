"""Change what a stage file says and seal it again: what a stranger with our source could do."""

import json

import h5py
import numpy as np

from fewfold.pipeline import artifacts


def change_file(path, *, notes=None, arrays=None, settings=None, attributes=None, remove=()):
    """Replace notes, arrays, settings or attributes, then recompute every digest and the seal.

    ``arrays`` maps a name to an array, or to a list of str; ``remove`` names arrays and
    ``note:*`` attributes to take out.
    """
    with h5py.File(path, "r+") as file:
        for key in remove:
            if key in file:
                del file[key]
            elif key in file.attrs:
                del file.attrs[key]
        for key, value in (notes or {}).items():
            put_text(file, f"note:{key}", json.dumps(value, sort_keys=True))
        if settings is not None:
            put_text(file, "settings", json.dumps(settings, sort_keys=True))
        for key, value in (attributes or {}).items():
            file.attrs[key] = value
        for name, value in (arrays or {}).items():
            in_blocks = name in file and "block_rows" in file[name].attrs
            if name in file:
                del file[name]
            _put_array(file, name, value, in_blocks)
        reseal(file)
    return path


def reseal(file):
    """Recompute the digests of all contiguous arrays, the content and the seal."""
    put_text(file, "content", artifacts.content_of(file))
    if "seal" in file.attrs:
        del file.attrs["seal"]
    put_text(file, "seal", artifacts.seal_of(artifacts.attributes_of(file)))


def put_text(file, key, text):
    file.attrs[key] = np.bytes_(text if isinstance(text, bytes) else text.encode())


def _put_array(file, name, value, in_blocks=False):
    count = len(value) if isinstance(value, list) else None
    if isinstance(value, list):
        value = np.frombuffer("\0".join(value).encode(), np.uint8)
    value = np.ascontiguousarray(value)
    dataset = file.create_dataset(name, data=value)
    if in_blocks:
        dataset.attrs["block_rows"] = max(len(value), 1) if value.ndim else 1
        dataset.attrs["block_digests"] = np.array([artifacts.digest_of(value)], np.uint64)
    else:
        dataset.attrs["digest"] = artifacts.digest_of(value)
    if count is not None:
        dataset.attrs["count"] = count
