"""A small web server for one person on one machine.

It answers on the loopback address only and looks at the Host header, so that no page of the web can reach it
through a name that points here. What a visitor sends is bounded; what goes wrong is told in one sentence, and
the traceback goes to the server's log.
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
from rarewords.teaching.run import shown_name

LOG = logging.getLogger("rarewords.serve")
_MOST_BYTES = 64_000
_SECONDS_TO_SEND = 15
_PAGES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
}
_HEADERS = {
    # Nothing from elsewhere, nothing inline: what a visitor types can never become code.
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class _RefusedError(Exception):
    """An answer other than 200, and what it says."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Server(ThreadingHTTPServer):
    """The page and its three answers.

    :param results: WNLaMPro results as the page shows them.
    """

    daemon_threads = True

    def __init__(
        self, study: Study, results: list[dict[str, Any]], *, host: str = "127.0.0.1", port: int = 8765
    ) -> None:
        if not _is_loopback(host):
            raise InputError(
                f"{host} can be reached from other machines; serve answers on this one only (127.0.0.1)"
            )
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.study = study
        self.pages = {
            path: ((files("rarewords") / "assets" / "app" / name).read_bytes(), kind)
            for path, (name, kind) in _PAGES.items()
        }
        self.answers = {
            "/api/samples": json.dumps({"model": shown_name(study.lm.name), "samples": samples()}).encode(),
            "/api/results": json.dumps(results).encode(),
        }
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
        if path in self.server.pages:
            return self.server.pages[path]
        if path in self.server.answers:
            return self.server.answers[path], "application/json"
        raise _RefusedError(404, "there is no such page")

    def _post(self) -> tuple[bytes, str]:
        if self.path != "/api/study":
            raise _RefusedError(404, "there is no such page")
        # A form of another page can send text but not this type, not without asking first.
        if self.headers.get("Content-Type", "").split(";")[0].strip() != "application/json":
            raise _RefusedError(415, "send application/json")
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            raise _RefusedError(411, "say how much you send (Content-Length)")
        if int(length) > _MOST_BYTES:
            raise _RefusedError(413, f"too much text; {_MOST_BYTES:,} bytes is the most")
        try:
            sent = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise _RefusedError(400, "what was sent is not JSON") from None
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
            body = _error("something went wrong here; the server's log says what")
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
        """Only names of this machine: with another, a page of the web would have its own name lead here."""
        port = self.server.server_address[1]
        allowed = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        if self.headers.get("Host", "").lower() not in allowed:
            raise _RefusedError(403, "open this page as http://127.0.0.1 or http://localhost")
        origin = self.headers.get("Origin")
        if origin is not None and origin.lower().removeprefix("http://") not in allowed:
            raise _RefusedError(403, "this page answers to itself only")

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
