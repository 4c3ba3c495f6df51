"""Downloads against a real HTTP server on loopback, and archives that mean harm."""

import gzip
import hashlib
import io
import tarfile
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fewfold.datasets import archives, download, transfer
from fewfold.datasets.registry import DataFile, Source
from fewfold.exceptions import DataWarning, DownloadError

TEXT = b"".join(b"%d,%d\n" % (i, i * i) for i in range(60_000))
PACKED = gzip.compress(TEXT, mtime=0)


def sha(data):
    return hashlib.sha256(data).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves ``server.pages``: path -> function(handler), and notes each request."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("Range")))
        page = self.server.pages.get(self.path)
        if page is None:
            self.send_error(404)
        else:
            page(self)

    def log_message(self, *args):
        pass


def body(data, ranges=True, cut=None, slow=0.0):
    """A page with Range support that may stop after ``cut`` bytes of each answer."""

    def page(handler):
        start = 0
        asked = handler.headers.get("Range")
        if ranges and asked:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            if start >= len(data):
                handler.send_response(416)
                handler.send_header("Content-Range", f"bytes */{len(data)}")
                handler.send_header("Content-Length", "0")
                handler.end_headers()
                return
            handler.send_response(206)
            handler.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            handler.send_response(200)
        rest = data[start:]
        handler.send_header("Content-Length", str(len(rest)))
        handler.end_headers()
        sent = rest if cut is None else rest[:cut]
        for i in range(0, len(sent), 8192):
            handler.wfile.write(sent[i : i + 8192])
            time.sleep(slow)
        if len(sent) < len(rest):
            handler.close_connection = True

    return page


def redirect(target):
    def page(handler):
        handler.send_response(302)
        handler.send_header("Location", target)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return page


@pytest.fixture
def server():
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    http.pages, http.seen = {}, []
    http.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield http
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FEWFOLD_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FEWFOLD_MIRROR", raising=False)
    monkeypatch.setattr(transfer, "PAUSE_S", 0.01)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"


def wanted(*urls, data=PACKED, text=TEXT, kind="gzip", path="set/numbers.csv.gz"):
    sources = tuple(u if isinstance(u, Source) else Source(u) for u in urls)
    content = sha(text) if kind != "lines" else archives.lines_digest(text)
    return DataFile(path, len(data), sha(data), kind, len(text), content, sources)


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_plain_download_and_cache(server, cache):
    server.pages["/a"] = body(PACKED)
    file = wanted(f"{server.url}/a")
    path = download.obtain(file)
    assert path == cache / "set/numbers.csv.gz" and path.read_bytes() == PACKED
    assert files(cache) == ["set/numbers.csv.gz"]
    assert download.obtain(file) == path and len(server.seen) == 1
    assert path.stat().st_mode & 0o044, "others on the machine may read the cache"


def test_slow_server(server, cache, monkeypatch):
    server.pages["/a"] = body(PACKED, slow=0.005)
    assert download.obtain(wanted(f"{server.url}/a")).read_bytes() == PACKED
    server.pages["/b"] = body(PACKED, slow=5)
    monkeypatch.setattr(transfer, "TIMEOUT_S", (1.0, 0.1))
    monkeypatch.setattr(transfer, "TRIES", 2)
    with pytest.raises(DownloadError, match=r"(?s)no answer for 0.1 s|cut.*2 tries"):
        download.obtain(wanted(f"{server.url}/b", path="set/b"))


def test_cut_connection_goes_on_by_range(server, cache):
    server.pages["/a"] = body(PACKED, cut=len(PACKED) // 3 + 1)
    assert download.obtain(wanted(f"{server.url}/a")).read_bytes() == PACKED
    starts = [r and int(r[6:-1]) for _, r in server.seen]
    assert starts[0] is None and starts[1:] == sorted(starts[1:]) and len(starts) == 3
    assert files(cache) == ["set/numbers.csv.gz"]


def test_part_is_kept_over_runs_and_resumed(server, cache):
    server.pages["/a"] = body(PACKED, cut=1000)
    with pytest.raises(DownloadError, match="4000 bytes are kept"):
        download.obtain(wanted(f"{server.url}/a"))
    (part,) = files(cache)
    assert part.endswith(".part") and (cache / part).read_bytes() == PACKED[:4000]
    server.pages["/a"] = body(PACKED)
    assert download.obtain(wanted(f"{server.url}/a")).read_bytes() == PACKED
    assert server.seen[-1][1] == "bytes=4000-"
    assert files(cache) == ["set/numbers.csv.gz"]


def test_resume_against_a_server_without_ranges(server, cache):
    server.pages["/a"] = body(PACKED, cut=1000)
    with pytest.raises(DownloadError):
        download.obtain(wanted(f"{server.url}/a"))
    server.pages["/a"] = body(PACKED, ranges=False)
    assert download.obtain(wanted(f"{server.url}/a")).read_bytes() == PACKED


def test_part_of_another_version_starts_over(server, cache):
    file = wanted(f"{server.url}/a")
    downloader = transfer.ResumingDownloader(file, file.sources[0], cache / file.path)
    for stale in (b"x" * 500, b"x" * len(PACKED), b"x" * (len(PACKED) + 7), PACKED):
        downloader.part.parent.mkdir(parents=True, exist_ok=True)
        downloader.part.write_bytes(stale)
        (cache / file.path).unlink(missing_ok=True)
        server.pages["/a"] = body(PACKED)
        assert download.obtain(file).read_bytes() == PACKED
        assert files(cache) == ["set/numbers.csv.gz"]


@pytest.mark.parametrize(
    "sent",
    [PACKED[:-9] + b"tampered!", b"<html>log in first</html>", gzip.compress(b"other"), b""],
    ids=["tampered", "login page", "other contents", "empty"],  # gzip writes the time
)
def test_wrong_contents(server, cache, sent):
    server.pages["/a"] = body(sent)
    with pytest.raises(DownloadError) as caught:
        download.obtain(wanted(f"{server.url}/a"))
    message = str(caught.value)
    for part in (
        "set/numbers.csv.gz",
        "expected",
        "received",
        "What to do",
        "FEWFOLD_MIRROR",
        "/a: ",
    ):
        assert part in message
    assert sha(sent) in message or sha(b"other") in message
    assert not cache.exists() or files(cache) == []


def test_another_packing_of_the_same_contents_is_accepted(server, cache):
    again = gzip.compress(TEXT, compresslevel=1, mtime=12345)
    assert again != PACKED
    server.pages["/a"] = body(again)
    assert gzip.decompress(download.obtain(wanted(f"{server.url}/a")).read_bytes()) == TEXT


def test_endless_answer_is_stopped(server, cache):
    server.pages["/a"] = body(b"\0" * (8 << 20))
    with pytest.raises(DownloadError, match="received more than"):
        download.obtain(wanted(f"{server.url}/a"))
    assert not cache.exists() or files(cache) == []


def test_gzip_bomb_is_stopped(server, cache):
    server.pages["/a"] = body(gzip.compress(b"\0" * (100 << 20)))
    with pytest.raises(DownloadError, match=f"more than the {len(TEXT)} bytes"):
        download.obtain(wanted(f"{server.url}/a"))


def test_404_then_second_url(server, cache):
    server.pages["/b"] = body(PACKED)
    path = download.obtain(wanted(f"{server.url}/a", f"{server.url}/b"))
    assert path.read_bytes() == PACKED
    assert [p for p, _ in server.seen] == ["/a", "/b"]


def test_server_error_is_tried_again(server, cache):
    def flaky(handler):
        if len(server.seen) < 3:
            handler.send_error(503)
        else:
            body(PACKED)(handler)

    server.pages["/a"] = flaky
    assert download.obtain(wanted(f"{server.url}/a")).read_bytes() == PACKED


def test_redirect(server, cache):
    server.pages["/a"] = redirect("/b")
    server.pages["/b"] = body(PACKED)
    assert download.obtain(wanted(f"{server.url}/a")).read_bytes() == PACKED
    server.pages["/c"] = redirect("/c")
    with pytest.raises(DownloadError, match="redirects"):
        download.obtain(wanted(f"{server.url}/c", path="set/c"))


def test_nobody_listens(server, cache):
    server.shutdown()
    server.server_close()
    with pytest.raises(DownloadError, match="(?s)connection failed.*FEWFOLD_MIRROR"):
        download.obtain(wanted(f"{server.url}/a"))
    assert not cache.exists() or files(cache) == []


def test_plain_and_zip_sources_are_repacked(server, cache):
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("in/numbers.csv", TEXT)
    server.pages["/plain"] = body(TEXT)
    server.pages["/zip"] = body(zipped.getvalue())
    for source in (
        Source(f"{server.url}/plain", "plain"),
        Source(f"{server.url}/zip", "zip", "in/numbers.csv"),
    ):
        path = download.obtain(wanted(source, path=f"{source.pack}.gz"))
        assert gzip.decompress(path.read_bytes()) == TEXT
    with pytest.raises(DownloadError, match="no member 'else'"):
        download.obtain(wanted(Source(f"{server.url}/zip", "zip", "else"), path="c.gz"))


def make_tar(members, mode="w:gz"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in members:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_names_source(server, cache):
    posts = [("by-train/g.a/12", b"x"), ("by-test/g.a/13", b"yy")]
    server.pages["/tar"] = body(make_tar(posts))
    text = b"train g.a/12\ntest g.a/13\n"
    source = Source(f"{server.url}/tar", "names")
    path = download.obtain(wanted(source, data=b"?", text=text, kind="lines"))
    assert sorted(gzip.decompress(path.read_bytes()).splitlines()) == sorted(text.splitlines())


def member(name, kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize(
    "bad",
    [
        member("../evil"),
        member("top/../../evil"),
        member("/etc/evil"),
        member("C:/evil"),
        member("..\\evil"),
        member("top/link", tarfile.SYMTYPE, "/etc/passwd"),
        member("top/hard", tarfile.LNKTYPE, "top/a"),
        member("top/dev", tarfile.CHRTYPE),
        member("top/pipe", tarfile.FIFOTYPE),
    ],
    ids=lambda m: m.name,
)
def test_archives_that_reach_out_are_refused(server, cache, tmp_path, bad):
    data = make_tar([("top/a", b"good"), (bad, b"")])
    (tmp_path / "a.tar.gz").write_bytes(data)
    with pytest.raises(DownloadError, match="member .* has a (name|link)"):
        list(archives.tar_members(tmp_path / "a.tar.gz", 100))
    server.pages["/a"] = body(data)
    tree = archives.tree_digest(iter([("top/a", b"good")]))
    file = DataFile("set/a.tgz", 9, "0" * 64, "tree", 4, tree, (Source(f"{server.url}/a"),))
    with pytest.raises(DownloadError, match="member"):
        download.obtain(file)
    assert not cache.exists() or files(cache) == []
    assert not (tmp_path / "evil").exists() and not (tmp_path.parent / "evil").exists()


def test_tree_digest_ignores_packing_order_and_line_ends(server, cache):
    one = make_tar([("top/a/1", b"x\r\ny"), ("top/a/2", b"z")])
    two = make_tar([("./other/a/2", b"z"), ("./other/a/1", b"x\ny")], "w")
    server.pages["/a"] = body(two)
    digest = archives.tree_digest(iter([("top/a/1", b"x\r\ny"), ("top/a/2", b"z")]))
    file = DataFile("t.tgz", len(one), sha(one), "tree", 5, digest, (Source(f"{server.url}/a"),))
    assert download.obtain(file).read_bytes() == two


def test_archive_limits(tmp_path):
    path = tmp_path / "a.tar.gz"
    path.write_bytes(make_tar([("t/a", b"x" * 50), ("t/b", b"x" * 60)]))
    with pytest.raises(DownloadError, match="more than the 100 bytes"):
        list(archives.tar_members(path, 100))
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(DownloadError, match="not a whole tar archive"):
        list(archives.tar_members(path, 1000))
    with pytest.raises(DownloadError, match="not a whole gzip file"):
        archives.gunzip(path, 10**6)


def test_mirror_comes_first_and_is_verified(server, cache, tmp_path, monkeypatch):
    mirror = tmp_path / "mirror"
    (mirror / "set").mkdir(parents=True)
    monkeypatch.setenv("FEWFOLD_MIRROR", str(mirror))
    file = wanted(f"{server.url}/a")
    server.pages["/a"] = body(PACKED)
    held = mirror / file.path
    held.write_bytes(PACKED)
    assert download.obtain(file) == held and server.seen == []
    assert download.find_local(file) == (held, "mirror")
    held.write_bytes(b"tampered")
    with pytest.warns(DataWarning, match="is not used: expected"):
        assert download.obtain(file) == cache / file.path
    server.pages.clear()
    (cache / file.path).write_bytes(b"rotten")
    with pytest.warns(DataWarning), pytest.raises(DownloadError) as caught:
        download.obtain(file)
    for part in (str(held), "cache: ", "(removed)", "404"):
        assert part in str(caught.value)
    held.unlink()
    assert download.find_local(file) == (None, "no")
    monkeypatch.setenv("FEWFOLD_MIRROR", str(tmp_path / "nowhere"))
    with pytest.raises(DownloadError, match="FEWFOLD_MIRROR=.*is not a folder"):
        download.obtain(file)


def test_two_at_once_download_once(server, cache):
    server.pages["/a"] = body(PACKED, slow=0.002)
    file, paths = wanted(f"{server.url}/a"), []
    threads = [
        threading.Thread(target=lambda: paths.append(download.obtain(file))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paths) == 4 and len(server.seen) == 1


def test_folders_that_cannot_be_used(server, cache, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FEWFOLD_CACHE", str(tmp_path / "file"))
    with pytest.raises(DownloadError, match="cannot be made.*Set FEWFOLD_CACHE"):
        download.obtain(wanted(f"{server.url}/a"))


def test_cache_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("FEWFOLD_CACHE", raising=False)
    checkout = tmp_path / "checkout"
    (checkout / "deep" / "down").mkdir(parents=True)
    (checkout / "Snakefile").touch()
    (checkout / "pyproject.toml").touch()
    monkeypatch.chdir(checkout / "deep" / "down")
    assert download.cache_dir() == checkout / "data" / "cache"
    monkeypatch.chdir(tmp_path)
    assert download.cache_dir().name == "fewfold"
    monkeypatch.setenv("FEWFOLD_CACHE", str(tmp_path / "x"))
    assert download.cache_dir() == tmp_path / "x"
