"""A small web server for one person on one machine.

It answers on the loopback address only and checks the Host header, so that no web page can reach it through
a name that points here. The size of a request is limited. An error is reported in one sentence; its traceback
goes to the server's log.
"""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from ipaddress import ip_address
from typing import Any

from rarewords.app.study import Request, Study, samples
from rarewords.errors import InputError
from rarewords.models import shown_name

LOG = logging.getLogger("rarewords.serve")
_MOST_BYTES = 64_000
_SECONDS_TO_SEND = 15
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


class _RefusedError(Exception):
    """A status other than 200, and its message."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Server(ThreadingHTTPServer):
    """The page, the sample words, and the answers about a word."""

    daemon_threads = True

    def __init__(self, study: Study, *, host: str = "127.0.0.1", port: int = 8765) -> None:
        if not _is_loopback(host):
            raise InputError(f"{host} is not a loopback address; serve answers this machine only (127.0.0.1)")
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.study = study
        self.pages = {
            path: ((files("rarewords") / "assets" / "app" / name).read_bytes(), kind)
            for path, (name, kind) in _PAGES.items()
        }
        start = json.dumps({"model": shown_name(study.lm.name), "samples": samples()}).encode()
        self.pages["/api/samples"] = (start, "application/json")
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise InputError(
                f"port {port} cannot be used: {error.strerror}; choose another with --port"
            ) from None

    @property
    def url(self) -> str:
        """Where the page is."""
        host, port = self.server_address[:2]
        return f"http://[{host!s}]:{port}/" if ":" in str(host) else f"http://{host!s}:{port}/"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "rarewords", ""
    protocol_version = "HTTP/1.1"
    timeout = _SECONDS_TO_SEND

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_HEAD(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def _get(self) -> tuple[bytes, str]:
        path = self.path.split("?", 1)[0]
        if path not in self.server.pages:
            raise _RefusedError(404, "there is no such page")
        return self.server.pages[path]

    def _post(self) -> tuple[bytes, str]:
        if self.path != "/api/study":
            raise _RefusedError(404, "there is no such page")
        # A form on another page can send text, but not this type without asking first.
        if self.headers.get("Content-Type", "").split(";")[0].strip() != "application/json":
            raise _RefusedError(415, "send application/json")
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            raise _RefusedError(411, "send a Content-Length")
        if int(length) > _MOST_BYTES:
            raise _RefusedError(413, f"too much text; send at most {_MOST_BYTES:,} bytes")
        try:
            sent = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise _RefusedError(400, "the request is not JSON") from None
        started = time.perf_counter()
        answer = self.server.study.answer(Request.parse(sent))
        answer["seconds"] = round(time.perf_counter() - started, 3)
        return json.dumps(answer).encode(), "application/json"

    def _answer(self, make: Callable[[], tuple[bytes, str]]) -> None:
        status = 200
        try:
            self._check_host()
            body, kind = make()
        except InputError as error:
            status, body, kind = 400, _error(str(error)), "application/json"
        except _RefusedError as error:
            status, body, kind = error.status, _error(str(error)), "application/json"
        except TimeoutError:
            self.close_connection = True
            return
        except Exception:
            LOG.exception("while answering %s %s", self.command, self.path)
            status, kind = 500, "application/json"
            body = _error("internal error; see the server's log")
        if status != 200:
            self.close_connection = True  # a body may be left unread
        try:
            self._send(status, body, kind)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the visitor has gone

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
        allowed = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        if self.headers.get("Host", "").lower() not in allowed:
            raise _RefusedError(403, "open this page as http://127.0.0.1 or http://localhost")
        origin = self.headers.get("Origin")
        if origin is not None and origin.lower().removeprefix("http://") not in allowed:
            raise _RefusedError(403, "requests must come from this page")

    def log_message(self, format: str, *arguments: Any) -> None:
        LOG.info(format, *arguments)


def _error(text: str) -> bytes:
    return json.dumps({"error": text}).encode()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
