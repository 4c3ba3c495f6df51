"""The page in a real browser, and requests that are not the page's own."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from _report_chromium import Page

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

N_IMAGES = 120


@pytest.fixture(scope="module")
def truth():
    return load_digits().target[:N_IMAGES]


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "digits"
    folder.mkdir()
    for i, image in enumerate(load_digits().images[:N_IMAGES]):
        Image.fromarray((image * 15.9).astype("uint8")).save(folder / f"{i:03d}.png")
    return folder


class Served:
    """The command as a process; killed, not asked to stop."""

    def __init__(self, path, *options):
        self.log = path.with_name(f"served-{time.monotonic_ns()}.log")
        command = [sys.executable, "-m", "fewfold.cli", "label", str(path), "--serve",
                   "--no-browser", *options]  # fmt: skip
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + 90
        while not (found := re.search(r"http://\S+", self.log.read_text())):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.1)
        self.address = found[0]
        self.host = self.address.split("/")[2]
        self.token = self.address.split("/")[3]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill(signal.SIGTERM)

    def kill(self, how=signal.SIGKILL):
        if self.process.poll() is None:
            os.kill(self.process.pid, how)
            self.process.wait(20)

    def request(self, method, path, body=None, **headers):
        """Status and text of a request as a stranger could make it."""
        connection = http.client.HTTPConnection(self.host, timeout=20)
        connection.putrequest(method, path, skip_host="Host" in headers)
        given = {"content-type": "application/json"} if body is not None else {}
        if body is not None and "content_length" not in headers:
            given["content-length"] = str(len(body))
        for name, value in {**given, **headers}.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        if body:
            try:
                connection.send(body)
            except OSError:
                pass  # refused before all was sent
        answer = connection.getresponse()
        return answer.status, answer.read().decode("utf-8", "replace"), answer.headers


@pytest.fixture(scope="module")
def served(images):
    with Served(images) as server:
        yield server


def test_only_the_page_itself_is_answered(served):
    base, own = f"/{served.token}", {"Origin": f"http://{served.host}"}
    assert served.request("GET", f"{base}/")[0] == 200
    assert served.request("GET", "/")[0] == 404
    assert served.request("GET", "/wrong-token/")[0] == 404
    assert served.request("GET", f"/{served.token[:-1]}x/api/state")[0] == 404
    assert served.request("GET", f"{base}/api/state", Host="evil.example")[0] == 421
    assert served.request("GET", f"{base}/api/state", Origin="http://evil.example")[0] == 403
    body = json.dumps({"row": 0, "class": None, "tab": "x"}).encode()
    assert served.request("POST", f"{base}/api/answer", body)[0] == 403  # no Origin
    assert served.request("POST", f"{base}/api/answer", body, Origin="null")[0] == 403
    assert served.request("POST", f"{base}/api/answer", b"{", **own)[0] == 400
    assert served.request("POST", f"{base}/api/answer", b'{"row": true}', **own)[0] == 409
    assert served.request("POST", f"{base}/api/answer", b'{"row": 10000}', **own)[0] == 409
    assert served.request("POST", f"{base}/api/shell", b"{}", **own)[0] == 409


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "api/image/..%2f1", "page/app.js",
             "%2e%2e/%2e%2e/pyproject.toml", "api/image/99999", "server.py"],
)  # fmt: skip
def test_no_path_leads_to_other_files(served, path):
    status, text, _ = served.request("GET", f"/{served.token}/{path}")
    assert status == 404 and "root:" not in text and "import" not in text


def test_a_large_body_is_refused_unread(served):
    own = {"Origin": f"http://{served.host}"}
    start = time.monotonic()
    answer = served.request("POST", f"/{served.token}/api/answer", b"x" * 1000,
                            content_length=str(100 * 2**20), **own)  # fmt: skip
    assert answer[0] == 413 and time.monotonic() - start < 10
    status, *_ = served.request("POST", f"/{served.token}/api/answer", b"x" * (100 * 2**20), **own)
    assert status == 413
    assert served.request("GET", f"/{served.token}/")[0] == 200


def test_headers_forbid_what_the_page_does_not_need(served):
    headers = served.request("GET", f"/{served.token}/")[2]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


def test_a_second_server_on_the_folder_is_refused(served, images):
    command = [sys.executable, "-m", "fewfold.cli", "label", str(images), "--serve", "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 1 and "Another fewfold run" in done.stderr


def test_two_tabs_get_different_rows_and_do_not_clash(served):
    own = {"Origin": f"http://{served.host}"}
    base = f"/{served.token}/api"

    def state(tab):
        return json.loads(served.request("GET", f"{base}/state?tab={tab}")[1])

    def post(what, **given):
        status, text, _ = served.request(
            "POST", f"{base}/{what}", json.dumps(given).encode(), **own
        )
        return status, json.loads(text)

    post("class", tab="a", name="even")
    first, second = state("a")["row"]["row"], state("b")["row"]["row"]
    assert first != second and state("a")["row"]["row"] == first
    version = state("b")["version"]
    assert post("answer", tab="a", row=first, **{"class": "even"})[0] == 200
    assert state("b")["version"] > version and state("b")["row"]["row"] == second
    status, found = post("answer", tab="b", row=first, **{"class": "even"})
    assert status == 200 and "another tab" in found["said"]
    assert found["answers"] == 1
    assert post("undo", tab="b")[1]["answers"] == 0


def press(page, key):
    for kind in ("keyDown", "keyUp"):
        text = key if kind == "keyDown" and len(key) == 1 else ""
        page.send("Input.dispatchKeyEvent", type=kind, key=key, text=text)


def settled(page, before=None):
    """Wait until the page shows another state; returns its number."""
    end = time.monotonic() + 30
    while (now := page.run("document.body.dataset.ready || ''")) in ("", before):
        assert time.monotonic() < end, page.run("document.body.innerText")
        time.sleep(0.03)
    return now


def answer_by_keys(page, truth, count):
    state = settled(page)
    for _ in range(count):
        row = int(page.run("document.getElementById('item-title').textContent").split()[1][:3])
        press(page, str(truth[row]))
        state = settled(page, state)


@pytest.mark.browser
def test_thirty_images_by_keyboard_over_a_kill(images, truth, tmp_path):
    folder = tmp_path / "digits"
    folder.mkdir()
    for file in images.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    first = Served(folder)
    with Page(first.address) as page:
        state = settled(page)
        for name in "0123456789":
            press(page, "n")
            page.send("Input.insertText", text=name)
            press(page, "Enter")
            page.run("document.getElementById('new-form').requestSubmit()")
            state = settled(page, state)
        answer_by_keys(page, truth, 14)
        row = page.run("document.getElementById('item-title').textContent")
        press(page, str(truth[int(row.split()[1][:3])]))
        first.kill()  # with an answer on its way
        assert page.errors == []
    with Served(folder) as second:
        with Page(second.address) as page:
            settled(page)
            words = page.run("document.getElementById('progress').textContent")
            assert int(words.split()[0]) in (14, 15)
            answer_by_keys(page, truth, 30 - int(words.split()[0]))
            press(page, "w")
            end = time.monotonic() + 20
            while "labels.csv" not in page.run("document.getElementById('written').textContent"):
                assert time.monotonic() < end
                time.sleep(0.05)
            assert page.messages == [] and page.errors == []
            assert {address.split("/")[2] for address in page.requests} == {second.host}
            assert page.run("document.documentElement.scrollWidth") <= 1280
            page.open(second.address, 390, 844, True)
            settled(page)
            assert page.run("document.documentElement.scrollWidth") == 390
            names = page.run(
                "[...document.querySelectorAll('button, input, canvas, progress')].filter(e => "
                "!e.closest('[hidden]')).map(e => e.getAttribute('aria-label') || e.textContent || "
                "(e.labels && e.labels[0] && e.labels[0].textContent) || '')"
            )
            assert names and all(name.strip() for name in names)
    made = tmp_path / "digits-labels/session"
    table = pd.read_csv(made / "labels.csv", dtype=str)
    rows = table["file"].str[:3].astype(int)
    assert len(table) == N_IMAGES and table["was_labeled"].eq("True").sum() == 30
    assert np.mean(table["label"].astype(int).to_numpy() == truth[rows]) > 0.8
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    logs = "".join(Path(server.log).read_text() for server in (first, second))
    assert ".png" not in logs and "api/" not in logs


def test_a_table_from_standard_input_is_served(tmp_path):
    lines = ["x,y,kind", *(f"{i % 7},{i % 11},{'ab'[i % 2] if i < 6 else ''}" for i in range(60))]
    command = [sys.executable, "-m", "fewfold.cli", "label", "-", "--target", "kind", "--serve",
               "--no-browser"]  # fmt: skip
    process = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    try:
        process.stdin.write("\n".join(lines))
        process.stdin.close()
        said = []
        for line in process.stdout:
            said.append(line)
            if "Label here: http://127.0.0.1:" in line:
                break
        assert "Label here" in said[-1], said
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()
    assert (tmp_path / "stdin-labels/session/journal.jsonl").exists()


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The script of axe-core, a checker of accessibility."""
    folder = tmp_path_factory.mktemp("axe")
    if shutil.which("npm") is None:
        pytest.skip("no npm on PATH: runs where there is one")
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), "axe-core@4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        pytest.skip("axe-core could not be installed: runs where npm reaches its registry")
    return (folder / "node_modules/axe-core/axe.min.js").read_text()


@pytest.mark.browser
def test_axe_finds_no_fault_in_any_light_or_width(images, truth, axe, tmp_path):
    folder = tmp_path / "digits"
    shutil.copytree(images, folder)
    with Served(folder, "--promise", "20%") as server, Page(server.address) as page:
        state = settled(page)
        for name in "0123456789":
            page.run(f"document.getElementById('new-name').value = '{name}'; "
                     "document.getElementById('new-form').requestSubmit(); 0")  # fmt: skip
            state = settled(page, state)
        answer_by_keys(page, truth, 22)  # labels are frozen by then: groups with intervals
        for light, width in (("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)):
            scheme = [{"name": "prefers-color-scheme", "value": light}]
            page.send("Emulation.setEmulatedMedia", features=scheme)
            page.open(server.address, width, 844, width == 390)
            settled(page)
            page.run("document.querySelector('details').open = true")
            page.run(axe + "; 0")
            faults = page.run("axe.run().then(r => r.violations.map(v => [v.id, "
                              "v.nodes.map(n => n.html.slice(0, 200))]))")  # fmt: skip
            assert faults == [], (light, width)
            assert page.run("document.documentElement.scrollWidth") == width
