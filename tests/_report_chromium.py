"""Drive a real Chromium over its DevTools pipe; no driver program or package is needed."""

import json
import os
import shutil
import subprocess
import tempfile
import time

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--disable-dev-shm-usage --remote-debugging-pipe"
).split()


def find():
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


class Page:
    """One page of a fresh browser, with all its console messages, errors and requests."""

    def __init__(self, address, width=1280, height=900, touch=False):
        self.messages, self.requests, self.errors, self.answers = [], [], [], {}
        self.last, self.session, self.rest = 0, None, b""
        self.folder = tempfile.mkdtemp(prefix="fewfold-chromium-")
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()

        def descriptors():  # Chromium reads commands from 3 and writes answers to 4
            first, second = os.dup(to_read), os.dup(to_write)
            os.dup2(first, 3)
            os.dup2(second, 4)

        # The pipe's ends may themselves be numbered 3 or 4 here; closing is left to exec below.
        self.process = subprocess.Popen(
            [find(), *FLAGS, f"--user-data-dir={self.folder}", "about:blank"],
            preexec_fn=descriptors,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.open(address, width, height, touch)

    def open(self, address, width, height, touch):
        """Load a page afresh in a window of this size."""
        self.messages, self.requests, self.errors = [], [], []
        size = dict(width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self.send("Emulation.setDeviceMetricsOverride", **size)
        self.send("Emulation.setTouchEmulationEnabled", enabled=touch)
        self.loaded = False
        self.send("Page.navigate", url=address)
        self.wait(lambda: self.loaded)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.send("Browser.close")
        except (OSError, TimeoutError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, method, **params):
        self.last += 1
        number = self.last
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        self.wait(lambda: number in self.answers)
        answer = self.answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def wait(self, done, seconds=30):
        import select

        end = time.monotonic() + seconds
        while not done():
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                raise TimeoutError("Chromium gave no answer")
            chunk = os.read(self.read_end, 1 << 20)
            if not chunk:
                raise OSError("Chromium ended")
            *whole, self.rest = (self.rest + chunk).split(b"\0")
            for text in whole:
                self.take(json.loads(text))

    def take(self, message):
        method, params = message.get("method"), message.get("params")
        if "id" in message:
            self.answers[message["id"]] = message
        elif method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.consoleAPICalled":
            self.messages.append((params["type"], [a.get("value") for a in params["args"]]))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.messages.append((params["entry"]["level"], params["entry"]["text"]))

    def run(self, script):
        """The value of a script's last expression."""
        result = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def frame(self):
        """Wait until the page has drawn."""
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))")

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def screenshot(self, path, whole=True):
        import base64

        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(data["data"]))
