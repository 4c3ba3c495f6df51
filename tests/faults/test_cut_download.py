"""A download cut in the middle: the next run resumes where it ended."""

import gzip
import hashlib
import shutil
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import yaml

from _project import copy_project
from conftest import Sandbox

NAMES = ("train-images", "train-labels", "test-images", "test-labels")


def idx(array):
    """A table of bytes in MNIST's file format, packed."""
    head = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    return gzip.compress(head + array.tobytes(), mtime=0)


def made_up_files():
    """Two classes of 28 x 28 pictures: dark on the left, dark on the right."""
    rng = np.random.default_rng(0)
    files = []
    for rows in (60, 20):
        y = (np.arange(rows) % 2).astype(np.uint8)
        images = rng.integers(0, 120, (rows, 28, 28), dtype=np.uint8)
        for label in (0, 1):
            images[y == label, :, label * 14 : label * 14 + 14] += 120
        files += [idx(images), idx(y)]
    return dict(zip(NAMES, files))


def entry(files, url):
    sha = lambda data: hashlib.sha256(data).hexdigest()  # noqa: E731
    described = [
        {
            "path": f"made_up/{name}.gz", "size": len(data), "sha256": sha(data),
            "content": {"kind": "gzip", "size": len(gzip.decompress(data)),
                        "sha256": sha(gzip.decompress(data))},
            "urls": [f"{url}/{name}"],
        }
        for name, data in files.items()
    ]  # fmt: skip
    return {
        "title": "pictures made for a test", "reader": "mnist", "n_features": 784,
        "image_shape": [28, 28], "classes": ["left", "right"],
        "counts": {"train": [30, 30], "test": [10, 10]}, "license": "none", "citation": "none",
        "homepage": url, "files": described,
    }  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """Serves files with ranges; while ``server.cut`` is set, answers end after so many bytes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        data, start = self.server.files[self.path[1:]], 0
        asked = self.headers.get("Range")
        if asked:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            self.server.resumed.append(start)
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        self.wfile.write(data[start:][: self.server.cut])
        self.close_connection = True

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.files, http.cut, http.resumed = made_up_files(), None, []
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield http
    http.shutdown()
    http.server_close()


@pytest.fixture
def project(tmp_path, server):
    """The project with one more published dataset, and a config that uses it."""
    project = copy_project(tmp_path / "project")
    path = project.folder / "src/fewfold/datasets/registry.yaml"
    more = {"made_up": entry(server.files, f"http://127.0.0.1:{server.server_address[1]}")}
    path.write_text(path.read_text() + "\n" + yaml.safe_dump(more, sort_keys=False))
    run = {"datasets": ["made_up"], "methods": ["knn"], "labels": [6], "trials": 2}
    config = {"run": run, "datasets": {"made_up": {"source": "made_up"}}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    return project


def test_download_cut_in_the_middle(project, server, tmp_path):
    def sandbox(name):
        found = Sandbox(tmp_path / name, project.folder, tmp_path / "config.yaml")
        found.more_environment = {"FEWFOLD_MIRROR": "", "FEWFOLD_CACHE": str(tmp_path / name / "c")}
        return found

    undisturbed, cut = sandbox("undisturbed"), sandbox("cut")
    undisturbed.completes()
    server.cut = 3000
    failed = cut.run()
    assert failed.returncode == 1
    assert "could not be obtained" in failed.stdout
    assert not (cut.folder / "results/made_up/raw.h5").exists()
    assert not list((cut.folder / "c").rglob("*.gz"))
    server.cut, server.resumed[:] = None, []
    cut.completes()
    assert server.resumed[0] == 12_000  # four answers of 3000 bytes were not lost
    assert cut.tables() == undisturbed.tables()
    shutil.rmtree(cut.folder)
