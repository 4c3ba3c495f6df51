"""The page's server: loopback only, a token in the URL, no data in logs."""

from __future__ import annotations

import asyncio
import json
import secrets
from importlib.resources import files
from urllib.parse import urlsplit

from fewfold.exceptions import FewfoldError, InputError
from fewfold.session.page_state import Desk

HOSTS = ("127.0.0.1", "localhost", "::1")
MOST_BODY = 64 * 1024
PING_S = 15
PAGE_FILES = {
    "": ("index.html", "text/html; charset=utf-8"),
    "app.js": ("app.js", "text/javascript; charset=utf-8"),
    "map.js": ("map.js", "text/javascript; charset=utf-8"),
    "style.css": ("style.css", "text/css; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
}
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Middleware that only accepts requests from the session's own page.

    Parameters
    ----------
    app : ASGI application
        Sees paths without the token.
    token : str
    """

    def __init__(self, app, token: str):
        self.app, self.token = app, token

    async def __call__(self, scope, receive, send):
        """Handle a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        refused = self._refused(scope, headers)
        if refused:
            await _refuse(send, *refused)
            return
        scope = {**scope, "path": "/" + scope["path"][len(self.token) + 2 :], "root_path": ""}

        async def send_guarded(message):
            if message["type"] == "http.response.start":
                more = [(k.encode(), v.encode()) for k, v in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        await self.app(scope, _limited(receive), send_guarded)

    def _refused(self, scope, headers):
        """Return status and reason if a request is not from the page; None otherwise."""
        host = headers.get("host", "")
        if urlsplit(f"//{host}").hostname not in HOSTS:
            return 421, "Open the address that fewfold printed."
        origin = headers.get("origin")
        is_own = origin == f"http://{host}"
        if (origin is not None and not is_own) or (scope["method"] != "GET" and not is_own):
            return 403, "Requests from other pages are refused."
        given = scope["path"].split("/")[1] if scope["path"].count("/") >= 2 else ""
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return 404, "Open the address that fewfold printed, with its token."
        if scope["method"] == "POST":
            length = headers.get("content-length", "")
            if not length.isascii() or not length.isdigit():
                return 411, "The length of the request is missing."
            if int(length) > MOST_BODY:
                return 413, "The request is too large."
            if headers.get("content-type", "").split(";")[0] != "application/json":
                return 415, "Only JSON is accepted."
        return None


async def _refuse(send, status, reason):
    head = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    head += [(k.encode(), v.encode()) for k, v in HEADERS.items()]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": reason.encode()})


def _limited(receive):
    """Stop reading a body that is longer than its stated length."""
    total = 0

    async def limited():
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        return {"type": "http.disconnect"} if total > MOST_BODY else message

    return limited


def make_app(desk: Desk, token: str):
    """Return the ASGI application of a session's page.

    Parameters
    ----------
    desk : Desk
    token : str
        The first part of every path.
    """
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    async def page(request):
        if (wanted := request.path_params.get("name", "")) not in PAGE_FILES:
            return Response("There is no such file.", status_code=404)
        name, kind = PAGE_FILES[wanted]
        text = files("fewfold.session").joinpath("page", name).read_text(encoding="utf-8")
        return Response(text, media_type=kind)

    async def state(request):
        tab = request.query_params.get("tab", "")[:40]
        return JSONResponse(await run_in_threadpool(desk.state, tab))

    async def positions(request):
        return JSONResponse(await run_in_threadpool(desk.positions))

    async def image(request):
        row = int(request.path_params["row"])
        if not desk.views.has_images or row >= desk.session.record.n_rows:
            return Response("There is no such image.", status_code=404)
        return Response(await run_in_threadpool(desk.views.image, row), media_type="image/png")

    async def act(request):
        try:
            given = json.loads(await request.body())
            if not isinstance(given, dict):
                raise ValueError
        except (ValueError, RecursionError):
            return JSONResponse({"error": "The request is not a JSON object."}, status_code=400)
        try:
            found = await run_in_threadpool(desk.act, request.path_params["what"], given)
        except InputError as error:
            return JSONResponse({"error": str(error)}, status_code=409)
        except FewfoldError as error:
            return JSONResponse({"error": str(error)}, status_code=500)
        except OSError as error:
            words = f"Not stored: {error.strerror}. Free some space; the answer was not taken."
            return JSONResponse({"error": words}, status_code=507)
        return JSONResponse(found)

    async def events(request):
        async def stream():
            seen, waited = -1, 0.0
            while not desk.is_closing and not await request.is_disconnected():
                if desk.version != seen:
                    seen, waited = desk.version, 0.0
                    yield f"data: {seen}\n\n"
                elif waited >= PING_S:
                    waited = 0.0
                    yield ": still here\n\n"
                await asyncio.sleep(0.2)
                waited += 0.2

        return StreamingResponse(stream(), media_type="text/event-stream")

    routes = [
        Route("/", page),
        Route("/api/state", state),
        Route("/api/map", positions),
        Route("/api/events", events),
        Route("/api/image/{row:int}", image),
        Route("/api/{what}", act, methods=["POST"]),
        Route("/{name}", page),
    ]
    return Guard(Starlette(routes=routes), token)


def serve(desk: Desk, *, port: int, echo, open_browser=True) -> None:
    """Serve the page until it is stopped.

    Parameters
    ----------
    desk : Desk
    port : int
        0 takes a free one.
    echo : callable
    open_browser : bool
    """
    import socket

    import uvicorn

    token = secrets.token_urlsafe(24)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((HOSTS[0], port))
            sock.listen(64)  # an early browser waits instead of failing
        except OSError as error:
            raise InputError(
                f"--port {port}: {error.strerror}. Choose another, or 0 for any that is free."
            ) from error
        port = sock.getsockname()[1]
        address = f"http://{HOSTS[0]}:{port}/{token}/"
        config = uvicorn.Config(
            make_app(desk, token), log_level="critical", access_log=False, server_header=False,
            timeout_graceful_shutdown=1, h11_max_incomplete_event_size=32 * 1024,
        )  # fmt: skip
        echo(f"Label here: {address}")
        echo(f"From another computer: ssh -L {port}:127.0.0.1:{port} THIS_COMPUTER, then open it.")
        echo("Every answer is stored at once. Ctrl-C stops; the same command resumes.")
        if open_browser:
            import webbrowser

            webbrowser.open(address)
        try:
            uvicorn.Server(config).run(sockets=[sock])
        finally:
            desk.close()
