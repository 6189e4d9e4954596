"""A small web server for one person on one machine.

It answers on 127.0.0.1 only and checks the Host header, so that no web page can reach it through
a name that points here. The size of a request, the time to send it and the number of questions that wait are
limited; words are studied one at a time, in the order they were asked for. An error is reported in one
sentence; its traceback goes to the server's log.
"""

import json
import logging
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from rarewords.app.study import Request, Study, samples
from rarewords.errors import InputError
from rarewords.models import shown_name

LOG = logging.getLogger("rarewords.serve")
_HOST = "127.0.0.1"
_MOST_BYTES = 64_000
_SECONDS_TO_SEND = 15
_MOST_WAITING = 16
_PAGES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
}
_HEADERS = {
    # Nothing external, nothing inline: what a visitor types can never become code.
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class _RefusedError(InputError):
    """A mistake with a status of its own."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Server(ThreadingHTTPServer):
    """The page, the sample words, and the answers about a word."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, study: Study, port: int) -> None:
        self.study = study
        self.waiting = threading.BoundedSemaphore(_MOST_WAITING)
        self.turns = ThreadPoolExecutor(1)  # its queue keeps the order
        self.pages = {
            path: ((files("rarewords") / "assets" / "app" / name).read_bytes(), kind)
            for path, (name, kind) in _PAGES.items()
        }
        start = json.dumps({"model": shown_name(study.lm.name), "samples": samples()}).encode()
        self.pages["/api/samples"] = (start, "application/json")
        try:
            super().__init__((_HOST, port), _Handler)
        except OSError as error:
            reason = f"port {port} cannot be used: {error.strerror}"
            raise InputError(f"{reason}; choose another with --port") from None

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class's
        """Log a fault; a connection that broke off is none."""
        if not isinstance(sys.exception(), OSError):
            LOG.exception("while serving a visitor")

    def server_close(self) -> None:
        """Free the port and forget who waits."""
        super().server_close()
        self.turns.shutdown(wait=False, cancel_futures=True)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{_HOST}:{self.server_address[1]}/"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "rarewords", ""
    protocol_version = default_request_version = "HTTP/1.1"

    def handle_one_request(self) -> None:
        # A timeout of the socket would begin again with every byte that comes.
        self._deadline = threading.Timer(_SECONDS_TO_SEND, self._drop)
        self._deadline.daemon = True
        self._deadline.start()
        try:
            super().handle_one_request()
        finally:
            self._deadline.cancel()

    def _drop(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        try:
            self._check_host()
            body, kind = self._post() if self.command == "POST" else self._get()
        except InputError as error:
            self.send_error(getattr(error, "status", 400), str(error))
        except Exception:
            LOG.exception("while answering %s %s", self.command, self.path)
            self.send_error(500, "internal error; see the server's log")
        else:
            self._send(200, body, kind)

    do_HEAD = do_POST = do_GET  # noqa: N815 - names of the base class

    def _get(self) -> tuple[bytes, str]:
        path = self.path.split("?", 1)[0]
        if path not in self.server.pages:
            raise _RefusedError(404, "there is no such page")
        return self.server.pages[path]

    def _post(self) -> tuple[bytes, str]:
        study = self.server.study
        work = {"/api/study": study.answer, "/api/judge": study.judge, "/api/save": study.save}.get(self.path)
        if work is None:
            raise _RefusedError(404, "there is no such page")
        # A form on another page can send text, but not this type without asking first.
        if self.headers.get("Content-Type", "").split(";")[0].strip() != "application/json":
            raise _RefusedError(415, "send application/json")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or "Transfer-Encoding" in self.headers:
            raise _RefusedError(411, "send a Content-Length")
        if len(length) > 9 or int(length) > _MOST_BYTES:
            raise _RefusedError(413, f"too much text; send at most {_MOST_BYTES:,} bytes")
        try:
            sent = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise _RefusedError(400, "the request is not JSON") from None
        self._deadline.cancel()
        request = Request.parse(sent)
        if not self.server.waiting.acquire(blocking=False):
            raise _RefusedError(503, "too many questions at once; ask again in a moment")
        try:
            started = time.perf_counter()
            answer = self.server.turns.submit(work, request).result()
            answer["seconds"] = round(time.perf_counter() - started, 3)
        finally:
            self.server.waiting.release()
        return json.dumps(answer).encode(), "application/json"

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Report a mistake in one sentence and hang up, since a body may be left unread."""
        self.close_connection = True
        text = message or "this cannot be answered"
        self._send(code, json.dumps({"error": text}).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **_HEADERS}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _check_host(self) -> None:
        """Accept names of this machine only: a web page could let its own name point here."""
        port = self.server.server_address[1]
        names = {_HOST, "localhost"}
        allowed = names if port == 80 else {f"{name}:{port}" for name in names}  # browsers leave 80 out
        if self.headers.get("Host", "").lower() not in allowed:
            raise _RefusedError(403, f"open this page as http://{_HOST} or http://localhost")
        origin = self.headers.get("Origin")
        if origin is not None and origin.lower().removeprefix("http://") not in allowed:
            raise _RefusedError(403, "requests must come from this page")

    def log_message(self, format: str, *arguments: Any) -> None:
        LOG.info(format, *arguments)
