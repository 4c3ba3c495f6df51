"""Memory of the kernel stage and speed of its files.

    python benchmarks/storage.py [--rows 20000]

Writes the tiles of an RBF kernel of n rows against all n by the stage's own code, each tile in a
process of its own as a job would be, and prints the peak memory; then the bytes per second of
`artifacts.Writer.add_blocks` (checked, fsynced) beside `numpy.save` of the same array.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TILE = """
import sys
from pathlib import Path
import numpy as np
from fewfold.pipeline.artifacts import writing
from fewfold.pipeline.stage_files import Features
from fewfold.pipeline.kernel_files import write_tile
from fewfold.svm.kernels import FeatureKernel, tile_bounds
n, tile, n_tiles, folder = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
X = np.random.default_rng(0).normal(size=(n, 100)).astype(np.float32)
settings = {"type": "rbf", "gamma": "median"}
source = FeatureKernel(Features(X, None, None, None, None, None), {}, settings)
first, last = tile_bounds(n, n_tiles, tile)
write_tile(f"{folder}/tile_{tile}.h5", source, np.arange(first, last))
peak = [l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith("VmHWM")][0]
print(int(peak.split()[1]) / 2**20)
"""


def kernel_stage(n, n_tiles, folder):
    start = time.perf_counter()
    peaks = []
    for tile in range(n_tiles):
        words = [sys.executable, "-c", TILE, str(n), str(tile), str(n_tiles), folder]
        peaks.append(
            float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        )
    return time.perf_counter() - start, max(peaks)


def write_speeds(n, folder, repeats=3):
    """Interleaved, so that both see the same machine; the first round is not counted."""
    from fewfold.pipeline import artifacts

    block = np.random.default_rng(0).random((2000, n), dtype=np.float32)
    blocks = n // len(block)
    whole = np.tile(block, (blocks, 1))
    times = {"numpy.save": [], "numpy.save and fsync": [], "fewfold": []}
    for _ in range(repeats + 1):
        for name in times:
            path = Path(folder) / "speed"
            start = time.perf_counter()
            if name == "fewfold":
                with artifacts.writing(path, "compute_kernel_tile") as out:
                    out.add_blocks("K", whole.shape, np.float32, (block for _ in range(blocks)))
            else:
                with open(path, "wb") as file:
                    np.save(file, whole)
                    if "fsync" in name:
                        file.flush()
                        os.fsync(file.fileno())
            times[name].append(time.perf_counter() - start)
            path.unlink()
    return whole.nbytes, {name: np.median(values[1:]) for name, values in times.items()}


def main(n):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        seconds, peak = kernel_stage(n, 5, folder)
        print(f"kernel stage, n = {n}, 5 tiles: {seconds:.1f} s, peak {peak:.2f} GiB", flush=True)
        nbytes, found = write_speeds(n, folder)
        for name, value in found.items():
            print(f"{name}: {nbytes / value / 1e9:.2f} GB/s")
        print(f"speed of fewfold / numpy.save: {found['numpy.save'] / found['fewfold']:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20000)
    main(parser.parse_args().rows)
