"""Downloads over HTTP through pooch: resumable, bounded, verified, moved into place when whole."""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import time
from pathlib import Path

from fewfold.datasets.archives import lines_digest, tar_members, zip_member
from fewfold.datasets.registry import DataFile, Source
from fewfold.datasets.verification import fault_of
from fewfold.exceptions import DownloadError

TRIES = 4
PAUSE_S = 1.0
TIMEOUT_S = (10.0, 60.0)  # to connect, and between two pieces of the answer
CHUNK = 1 << 16
# An archive of which only the names are used is read up to this size.
NAMES_LIMIT = 1 << 28


class _Cut(Exception):
    """The connection ended early; the part received is kept, and the rest requested again."""


class _Rejected(Exception):
    """The download is not the file that was requested."""


def download(wanted: DataFile, target: Path, faults: list[str]) -> Path:
    """Fetch a file from the first source that gives the right contents.

    Parameters
    ----------
    wanted : DataFile
        The file as the registry describes it.
    target : Path
        Where it goes; it appears there only when whole and verified.
    faults : list of str
        What was tried before, for the error message.

    Returns
    -------
    Path
        ``target``.
    """
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    faults = list(faults)
    for source in wanted.sources:
        try:
            pooch.retrieve(
                source.url,
                known_hash=None,  # the contents are checked by the downloader, before the move
                fname=target.name,
                path=target.parent,
                downloader=ResumingDownloader(wanted, source, target),
            )
            return target
        except (_Cut, _Rejected, requests.RequestException, OSError) as error:
            faults.append(f"{source.url}: {error}")
    tried = "".join(f"\n  - {fault}" for fault in faults) or "\n  - no source is known"
    raise DownloadError(
        f"{wanted.path} ({wanted.size} bytes, sha256 {wanted.sha256}) could not be obtained:{tried}"
        f"\nWhat to do: check the network and run again (a cut download resumes where it ended); "
        f"or place the file at {target}; or set FEWFOLD_MIRROR to a folder that holds "
        f"{wanted.path}."
    )


class ResumingDownloader:
    """A pooch downloader that resumes from a ``.part`` file and verifies before handing over.

    Parameters
    ----------
    wanted : DataFile
        What the file must hold.
    source : Source
        Where it comes from and how it is packed there.
    target : Path
        The final place; the ``.part`` file lies beside it.
    """

    def __init__(self, wanted: DataFile, source: Source, target: Path):
        self.wanted = wanted
        self.source = source
        # Sources may be packed differently, so each has a part file of its own.
        mark = hashlib.sha256(source.url.encode()).hexdigest()[:8]
        self.part = target.with_name(f"{target.name}.{mark}.part")

    def __call__(self, url, output_file, pooch, check_only=False):
        """Fetch ``url`` into ``output_file`` (pooch's interface for downloaders)."""
        resumed = self.part.exists()
        try:
            self._fetch_and_check(url)
        except _Rejected:
            if not resumed:
                raise
            # The old part may stem from another version of the file: once more from the start.
            self._fetch_and_check(url)
        os.replace(self.part, output_file)
        return None

    def _fetch_and_check(self, url: str) -> None:
        try:
            self._fetch(url)
            self._check()
        except _Cut:
            raise
        except BaseException:
            # Ctrl-C keeps the part as well: it can be resumed.
            if not isinstance(sys.exc_info()[1], KeyboardInterrupt):
                self.part.unlink(missing_ok=True)
            raise

    def _fetch(self, url: str) -> None:
        for attempt in range(1, TRIES + 1):
            try:
                return self._receive(url)
            except _Cut as cut:
                if attempt == TRIES:
                    have = self.part.stat().st_size if self.part.exists() else 0
                    raise _Cut(
                        f"{cut} ({TRIES} tries; {have} bytes are kept, the next run resumes there)"
                    ) from cut
                time.sleep(PAUSE_S * attempt)

    def _receive(self, url: str) -> None:
        """Make one request for what is still missing and append what comes."""
        import requests
        import urllib3

        have = self.part.stat().st_size if self.part.exists() else 0
        headers = {"Accept-Encoding": "identity", "User-Agent": "fewfold"}
        if have:
            headers["Range"] = f"bytes={have}-"
        try:
            with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT_S) as answer:
                if answer.status_code == 416:  # the part is whole already, or longer than the file
                    if _total(answer) == have:
                        return
                    self.part.unlink()
                    raise _Cut("the partial file does not match the file on the server")
                if answer.status_code in (408, 425, 429) or answer.status_code >= 500:
                    raise _Cut(f"HTTP status {answer.status_code} {answer.reason}")
                if answer.status_code not in (200, 206):
                    raise _Rejected(f"HTTP status {answer.status_code} {answer.reason}")
                if answer.status_code == 206 and not _starts_at(answer, have):
                    self.part.unlink(missing_ok=True)
                    raise _Cut("the server sent another range than asked for")
                self._store(answer, have if answer.status_code == 206 else 0)
        except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
            raise _Cut(f"no answer for {TIMEOUT_S[1]:g} s") from error
        except (requests.ConnectionError, urllib3.exceptions.HTTPError) as error:
            raise _Cut(f"connection failed or cut ({_short(error)})") from error

    def _store(self, answer, have: int) -> None:
        length = int(answer.headers.get("Content-Length") or 0)
        limit = self._limit()
        self.part.parent.mkdir(parents=True, exist_ok=True)
        with open(self.part, "ab" if have else "wb") as out, self._bar(have, length) as bar:
            # read1 gives what has come; iter_content would drop the last piece of a cut answer.
            while chunk := answer.raw.read1(CHUNK):
                out.write(chunk)
                have += len(chunk)
                bar.update(len(chunk))
                if have > limit:
                    raise _Rejected(
                        f"expected {self.wanted.size} bytes, received more than {limit}; stopped"
                    )
            out.flush()
            os.fsync(out.fileno())

    def _limit(self) -> int:
        if self.source.pack == "names":
            return NAMES_LIMIT
        # Packed otherwise than our copy, the same contents may be larger, but only up to a limit.
        return max(2 * self.wanted.size, self.wanted.content_size) + (1 << 20)

    def _bar(self, have: int, length: int):
        from tqdm import tqdm

        return tqdm(
            total=have + length if length else None,
            initial=have,
            desc=self.wanted.path,
            unit="B",
            unit_scale=True,
            file=sys.stderr,
            disable=not sys.stderr.isatty(),
        )

    def _check(self) -> None:
        """Verify the part file; bring it into our packing where the source has another."""
        if self.source.pack == "same":
            fault = fault_of(self.part, self.wanted)
            if fault:
                raise _Rejected(fault)
            return
        try:
            data = unpack(self.part, self.source, self.wanted)
        except DownloadError as error:
            raise _Rejected(str(error)) from error
        lines = self.wanted.kind == "lines"
        digest = lines_digest(data) if lines else hashlib.sha256(data).hexdigest()
        if digest != self.wanted.content_sha256:
            raise _Rejected(
                f"expected contents with sha256 {self.wanted.content_sha256}, received {digest} "
                f"({len(data)} bytes)"
            )
        self.part.write_bytes(gzip.compress(data, mtime=0))


def unpack(path: Path, source: Source, wanted: DataFile) -> bytes:
    """Take the wanted contents out of a download that is packed in another way."""
    if source.pack == "plain":
        return path.read_bytes()
    if source.pack == "zip":
        return zip_member(path, source.member, wanted.content_size)
    if source.pack == "names":
        return bydate_lines(path)
    raise DownloadError(f"pack {source.pack!r}; allowed: same, plain, zip, names.")


def bydate_lines(path: Path) -> bytes:
    """List "train|test group/number" from the names in the 20news-bydate archive."""
    lines = []
    for name, _ in tar_members(path, NAMES_LIMIT, names_only=True):
        top, _, rest = name.removeprefix("./").partition("/")
        lines.append(f"{top.rpartition('-')[2]} {rest}")
    return "\n".join(sorted(lines)).encode() + b"\n"


def _total(answer) -> int | None:
    """Read the file's full length from a Content-Range header, if it is there."""
    tail = answer.headers.get("Content-Range", "").rpartition("/")[2]
    return int(tail) if tail.isdigit() else None


def _starts_at(answer, have: int) -> bool:
    return answer.headers.get("Content-Range", "").replace("=", " ").startswith(f"bytes {have}-")


def _short(error: Exception) -> str:
    text = str(error)
    return text if len(text) <= 200 else text[:200] + "..."
