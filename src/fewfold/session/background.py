"""The full combination of candidates, refreshed in a background process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np

from fewfold.exceptions import FewfoldError
from fewfold.labeling import workspace
from fewfold.pipeline.artifacts import read
from fewfold.pipeline.layout import OUTPUTS
from fewfold.system.outputs import run_directory
from fewfold.system.run_folder import only_run

FOLDER = "combination"
FIRST, GROWTH = 20, 1.25  # labels before the first fit, and growth before the next
ANSWER = OUTPUTS["label_rows"]["answer"].format(dataset=workspace.NAME)


class Background:
    """Runs the combination on the answers so far, when there are enough new ones.

    Parameters
    ----------
    opened : Opened
    seed : int
    """

    def __init__(self, opened, seed: int = 0):
        self.opened, self.seed = opened, seed
        self.folder = opened.folder / "session" / FOLDER
        self._process, self._n, self._last, self._classes = None, 0, 0, 0
        self._starting: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether a refresh is running."""
        starts = self._starting is not None and self._starting.is_alive()
        return starts or (self._process is not None and self._process.poll() is None)

    def consider(self) -> None:
        """Start a refresh if enough answers were given since the last one."""
        session = self.opened.session
        known = session.n_known
        counts = np.bincount(session.record.answers[session.record.answers >= 0])
        if self.is_running or known < max(FIRST, GROWTH * self._last) or np.sum(counts > 0) < 2:
            return
        answers = np.where(session.record.answers >= 0, session.record.answers, -1)
        if (answers >= 0).all():
            return
        used = np.unique(answers[answers >= 0])
        codes = np.full(len(answers), -1)
        codes[answers >= 0] = np.searchsorted(used, answers[answers >= 0])
        classes = [session.classes[c] for c in used]
        intake = replace(self.opened.intake, y=codes, classes=classes, task="classification")
        self._n, self._last, self._classes = known, known, used
        # Writing many rows takes seconds, and the page waits for this method.
        self._starting = threading.Thread(target=self._start, args=(intake,), daemon=True)
        self._starting.start()

    def _start(self, intake):
        members = workspace.choose_members(intake)
        settings = {"task": intake.task, "classes": None, "abstain": None,
                    "spreadsheet_safe": False, "priors": None, "quick": False}  # fmt: skip
        notes = {"target": self.opened.target, "file": self.opened.path.name, "warnings": []}
        try:
            workspace.write_inputs(self.folder, intake, notes)
            config = workspace.make_config(intake, members, seed=self.seed, settings=settings)
            workspace.write_config(self.folder, config)
        except OSError:  # for example no space left: keep the live labels
            return
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fewfold.session.background", str(self.folder)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def take(self) -> bool:
        """Pass a finished combination to the session; return whether there was one."""
        if self._process is None or self.is_running:
            return False
        code, self._process = self._process.returncode, None
        if code:  # keep the live labels; retried after later answers
            return False
        try:
            with read(self.folder / ANSWER, "label_rows") as file:
                label, confidence = file["label"], file["confidence"]
        except FewfoldError:
            return False
        label = np.asarray(self._classes)[label]
        self.opened.session.set_combination(label, np.nan_to_num(confidence), self._n)
        return True

    def close(self) -> None:
        """Stop the background process."""
        if self._starting is not None:
            self._starting.join(10)
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()


def main(folder: str) -> None:
    """Run the workflow in a folder up to the answer."""
    from fewfold.runner import run_locked

    os.nice(10)  # lower priority than the page's server
    place = run_directory(Path(folder))
    with only_run(place) as stale:
        config = (place / "input/config.yaml").resolve()
        run_locked(place, stale, cores=1, configfiles=[config], targets=[ANSWER],
                   echo=lambda text: None, light=True)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
