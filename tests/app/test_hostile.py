"""Clients that mean no good: raw sockets that send too much, too little, too slowly, or all at once."""

import json
import socket
import threading
import time

import pytest

from rarewords.app import server as server_module
from rarewords.app.server import Server
from rarewords.app.study import Study
from rarewords.teaching.learners import open_learner

_PATIENCE = 240  # seconds until a test gives up; nothing is measured by it
_BODY = json.dumps({"word": "blimpet", "sentences": ["We ate a blimpet."]}).encode()


@pytest.fixture
def server(lm, monkeypatch):
    monkeypatch.setattr(server_module, "_SECONDS_TO_SEND", 1)
    with Server(Study(lm, open_learner(lm)[0]), 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def connect(server):
    return socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=_PATIENCE)


def request(server, *, body=_BODY, length=None, more=()):
    lines = [
        "POST /api/study HTTP/1.1",
        f"Host: 127.0.0.1:{server.server_address[1]}",
        "Content-Type: application/json",
        f"Content-Length: {len(body) if length is None else length}",
        *more,
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def heard(connection):
    """Everything the server says until it closes the connection."""
    said = b""
    while True:
        try:
            block = connection.recv(65536)
        except ConnectionResetError:  # it closed while bytes of ours were on their way
            return said
        if not block:
            return said
        said += block


def status(said):
    return int(said.split(b" ", 2)[1])


def test_nonsense_is_refused_in_json_and_nothing_reaches_the_log(server, caplog):
    host = f"Host: 127.0.0.1:{server.server_address[1]}\r\n".encode()
    nonsense = {
        b"\x00\xff\x16\x03\x01" * 40 + b"\r\n\r\n": 400,
        b"GET / HTTP/9.9\r\n\r\n": 505,
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n": 414,
        b"GET / HTTP/1.1\r\n" + host + b"X: y\r\n" * 200 + b"\r\n": 431,
        b"<script>alert(1)</script> / HTTP/1.1\r\n" + host + b"\r\n": 501,
        b"GET /<script> HTTP/1.1\r\n" + host + b"\r\n": 404,
        b"GET / HTTP/1.1\r\n\r\n": 403,
        request(server, length="9" * 5000): 413,
        request(server, length="\xb2"): 411,
        request(server, length=-1): 411,
        request(server, more=["Transfer-Encoding: chunked"]): 411,
        request(server, body=b"[" * 60_000): 400,
        request(server, body=b'{"word": "\\ud800", "sentences": ["\\ud800"]}'): 400,
        request(server, body=b'{"word": "blimpet", "sentences": ["a \\ud83d blimpet"]}'): 400,
    }
    for sent, expected in nonsense.items():
        with connect(server) as connection:
            connection.sendall(sent)
            said = heard(connection)
        assert status(said) == expected, (sent[:60], said)
        head, _, body = said.partition(b"\r\n\r\n")
        assert b"application/json" in head
        assert json.loads(body)["error"]
    assert not caplog.records


@pytest.mark.parametrize("place", [0, 10, 80, -5])
def test_a_client_that_sends_a_byte_now_and_then_is_dropped(server, place):
    whole = request(server)
    with connect(server) as connection:
        connection.sendall(whole[:place])
        with pytest.raises(ConnectionError):
            _trickle(connection)


def _trickle(connection):
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        connection.sendall(b" ")
        time.sleep(0.05)


def test_who_leaves_without_waiting_does_no_harm(server, caplog):
    for _ in range(20):
        with connect(server) as connection:
            connection.sendall(request(server)[:-3])
    with connect(server) as connection:
        connection.sendall(f"GET / HTTP/1.0\r\nHost: 127.0.0.1:{server.server_address[1]}\r\n\r\n".encode())
        assert status(heard(connection)) == 200
    assert not caplog.records


def test_fifty_at_once_are_answered_in_order_or_refused_politely(server, monkeypatch):
    gate, begun, order = threading.Event(), [], []

    def answer(asked):
        begun.append(asked)
        gate.wait(_PATIENCE)
        order.append(asked.sentences[0])
        return {"sentence": asked.sentences[0]}

    monkeypatch.setattr(server.study, "answer", answer)
    connections, taken = [], 0
    for number in range(50):
        connection = connect(server)
        body = json.dumps({"word": "blimpet", "sentences": [f"blimpet {number}"]}).encode()
        connection.sendall(request(server, body=body, more=["Connection: close"]))
        connections.append(connection)
        if taken < server_module._MOST_WAITING:  # until it has its place in the queue
            taken += 1
            while len(begun) + server.turns._work_queue.qsize() < taken:
                time.sleep(0.001)
    refused = [heard(connection) for connection in connections[taken:]]
    gate.set()
    answered = [heard(connection) for connection in connections[:taken]]
    assert {status(said) for said in refused} == {503}
    assert b"ask again in a moment" in refused[0]
    assert {status(said) for said in answered} == {200}
    assert order == [f"blimpet {number}" for number in range(taken)]
    for connection in connections:
        connection.close()
