"""An append-only journal of answers, each written to disk before it is confirmed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from fewfold.exceptions import InputError

NAME = "journal.jsonl"
FORMAT = 2
MOST_BYTES = 2**30
MOST_LINE = 100_000


class Journal:
    """Events in the order in which they happened, in memory or in a file.

    Parameters
    ----------
    path : path-like or None
        None keeps them in memory only. An existing file is read and appended to; an incomplete
        last line, left by a killed process, is removed.
    about : dict
        What the answers are about (rows, digest, seed). A file about something else is refused.
    """

    def __init__(self, path, about: dict):
        self.events: list[dict] = []
        self._file = None
        first = {"kind": "start", "format": FORMAT, **about}
        if path is None:
            self.about = first
            return
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists() or path.stat().st_size == 0
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        self._file = os.open(path, flags, 0o600)
        if is_new:
            self.about = first
            self._write({**first, "time": round(time.time(), 3)})
            folder = os.open(path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
            return
        self.about, self.events, size = read_journal(path)
        for key in ("n_rows", "digest"):
            if self.about.get(key) != first.get(key):
                self.close()
                raise InputError(
                    f"{path} holds answers about other rows ({key} {self.about.get(key)}, now "
                    f"{first.get(key)}). Move it away, or choose another --out."
                )
        os.ftruncate(self._file, size)

    def append(self, event: dict) -> dict:
        """Write an event and flush it to disk."""
        event = {"id": len(self.events), **event, "time": round(time.time(), 3)}
        self._write(event)
        self.events.append(event)
        return event

    def _write(self, event):
        if self._file is None:
            return
        line = json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n"
        data = line.encode()
        size = os.lseek(self._file, 0, os.SEEK_END)
        try:
            written = os.write(self._file, data)
            if written < len(data):
                raise OSError(28, "No space left on device")
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, size)  # an incomplete line would corrupt the next ones
            raise

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def read_journal(path) -> tuple[dict, list[dict], int]:
    """Read a journal; return its first line, the events, and the size of its complete lines.

    Raises
    ------
    InputError
        If it is not a journal, or a line in its middle is damaged.
    """
    path = Path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path} is too large for a journal of answers (above 1 GB).")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    size = data.rfind(b"\n") + 1
    events = []
    for number, line in enumerate(data[:size].split(b"\n")[:-1], 1):
        try:
            if len(line) > MOST_LINE:
                raise ValueError
            event = json.loads(line)
            if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
                raise ValueError
        except (ValueError, RecursionError):
            raise InputError(
                f"{path}, line {number}, is not an event of a labeling journal. Restore the file "
                "from a copy, or move it away to start over."
            ) from None
        events.append(event)
    if not events or events[0]["kind"] != "start" or events[0].get("format") != FORMAT:
        raise InputError(f"{path} is not a labeling journal of this version of fewfold.")
    return events[0], events[1:], size
