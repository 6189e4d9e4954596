"""Reading: formats, compressions, and what real text brings."""

import bz2
import csv
import gzip
import json
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rarewords.corpus import read
from rarewords.corpus.read import chunks, read_chunks
from rarewords.corpus.sources import find_sources
from tests.errors import refused_with

PACK = {"": lambda b: b, ".gz": gzip.compress, ".bz2": bz2.compress, ".zst": pa.Codec("zstd").compress}
DOCUMENTS = ['First document.\nWith two lines, and a "quote".', "Zweites Dokument: naïve Ωmega 😀.", "third"]
REPEATED = b"some text " * 5000
# The same, as the command zstd packs it: with a checksum, which Arrow does not write.
CHECKED = bytes.fromhex("28b52ffd045895000050736f6d65207465787420010043c3ea05092b196833")


def flipped(data):
    """The data with one bit changed in the middle."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 4]) + data[middle + 1 :]


def parquet(column):
    stream = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": column}), stream)
    return stream.getvalue().to_pybytes()


def write(path, kind, pack):
    if kind == "txt":
        data = "".join(document + "\n" for document in DOCUMENTS).encode()
    elif kind == "jsonl":
        data = "".join(json.dumps({"id": 1, "body": d}) + "\n" for d in DOCUMENTS).encode()
    elif kind in ("csv", "tsv"):
        with path.open("w", newline="", encoding="utf-8") as stream:
            rows = csv.writer(stream, delimiter="," if kind == "csv" else "\t")
            rows.writerows([["id", "body"], *([1, d] for d in DOCUMENTS)])
        data = path.read_bytes()
    else:
        pq.write_table(pa.table({"id": [1, 2, 3], "body": DOCUMENTS}), path)
        data = path.read_bytes()
    path.write_bytes(PACK[pack](data))


def text_of(path, field="text"):
    (source,) = find_sources([path], field)
    return "".join(chunk.text for chunk in read_chunks(source))


@pytest.mark.parametrize(("kind", "pack"), [*product(["txt", "jsonl", "csv", "tsv"], PACK), ("parquet", "")])
def test_every_format_in_every_compression(tmp_path, kind, pack):
    path = tmp_path / f"text.{kind}{pack}"
    write(path, kind, pack)
    assert text_of(path, "body") == "".join(document + "\n" for document in DOCUMENTS)


@settings(max_examples=200, deadline=None)
@given(st.text("ab \n", max_size=120), st.integers(1, 30), st.integers(1, 40))
def test_long_lines_are_cut_alike_however_the_blocks_fall(text, block, size):
    data = text.encode()
    old, read.MAX_LINE = read.MAX_LINE, 10
    try:
        blocks = [data[i : i + block] for i in range(0, len(data), block)]
        whole = b"".join(chunks(iter([data] if data else []), 10**9))
        assert b"".join(chunks(iter(blocks), size)) == whole
    finally:
        read.MAX_LINE = old
    assert max(map(len, whole.split(b"\n")), default=0) <= 10
    assert whole.replace(b"\n", b"") == data.replace(b"\n", b"")


def test_a_line_of_50_megabytes_in_bounded_memory(tmp_path):
    import tracemalloc

    path = tmp_path / "line.txt"
    with path.open("wb") as stream:
        for _ in range(50):
            stream.write(b"word after word ..." * 52632)
    (source,) = find_sources([path])
    tracemalloc.start()
    words = longest = 0
    for chunk in read_chunks(source):
        words += chunk.text.count("word")
        longest = max(longest, max(map(len, chunk.text.split("\n"))))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert words == 50 * 52632 * 2
    assert longest <= read.MAX_LINE
    assert peak < 90e6


def test_broken_utf8_is_replaced_and_counted(tmp_path):
    path = tmp_path / "broken.txt"
    path.write_bytes(b"good \xff bad \xc3\n" + "a real \ufffd\n".encode())
    (source,) = find_sources([path])
    ((text, replaced, _),) = read_chunks(source)
    assert text == "good \ufffd bad \ufffd\na real \ufffd\n"
    assert replaced == 2


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_bytes_that_are_no_utf8_are_no_text_but_a_few_are_replaced(name, tmp_path):
    def read(raw):
        (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
        (source,) = find_sources([tmp_path / name])
        return next(read_chunks(source)).replaced

    for raw in (np.random.default_rng(0).bytes(9999).replace(b"\0", b""), ("Привет, мир. " * 99).encode("cp1251")):
        with refused_with("unreadable"):
            read(raw)
    assert read(("Où est le café près du théâtre ? " * 99).encode("latin-1")) == 99 * 5


def test_broken_utf8_in_json_and_csv_is_counted_too(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "bad \xff"}\n{"text": "\\ud800 half"}\n{"text": null}\n')
    (tmp_path / "b.csv").write_bytes(b"text\nbad \xff\n")
    found = [chunk for source in find_sources([tmp_path]) for chunk in read_chunks(source)]
    assert [(text, replaced) for text, replaced, _ in found] == [
        ("bad \ufffd\n? half\n\n", 1),  # without a text, an empty line
        ("bad \ufffd\n", 1),
    ]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.jsonl", b'{"text": "x"}\n{"body": "y"}\n', "field"),
        ("a.jsonl", b'{"text": "x"}\nnot json\n', "format"),
        ("a.jsonl", b'{"text": 5}\n', "field"),
        ("a.jsonl", b"[1]\n", "format"),
        ("a.csv", b"body,id\nx,1\n", "field"),
        ("a.parquet", b"nonsense", "damaged"),
        ("a.txt.gz", gzip.compress(REPEATED)[:-20], "damaged"),
        ("a.txt.bz2", bz2.compress(REPEATED)[:-20], "damaged"),
        ("a.txt.zst", PACK[".zst"](REPEATED)[:-5], "damaged"),
        ("a.txt.gz", b"no gzip at all", "damaged"),
        ("a.txt.bz2", b"no bzip at all", "damaged"),
        ("a.txt.zst", b"no zstandard", "damaged"),
        ("a.txt", "utf-16".encode("utf-16"), "unreadable"),
        ("a.txt", bytes(range(256)) * 10, "unreadable"),
        ("a.txt.gz", flipped(gzip.compress(REPEATED)), "damaged"),
        ("a.txt.zst", flipped(CHECKED), "damaged"),
        ("a.jsonl", b"[" * 100_000, "format"),
        ("a.parquet", parquet(pa.array([b"good", b"bad \xff"])), "damaged"),
        ("a.parquet", parquet(pa.array([b"bad \xff"]).view(pa.string())), "damaged"),
        ("a.parquet", parquet(pa.array([1, 2])), "field"),
        ("a.parquet.gz", gzip.compress(parquet(pa.array(["x"]))), "damaged"),
        ("a.txt", b"", "unreadable"),
    ],
    ids=lambda value: "bytes" if isinstance(value, bytes) else None,  # gzip's bytes hold the time
)
def test_bad_files_are_named(tmp_path, name, content, code):
    (tmp_path / name).write_bytes(content)
    with refused_with(code) as caught:
        text_of(tmp_path / name)
    assert name in str(caught.value)


@pytest.mark.parametrize("pack", ["", ".gz"])
def test_a_bad_line_is_named_by_its_number_in_the_file(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(read, "SMALL_CHUNK", 1000)
    lines = [json.dumps({"text": "word " * (number % 30)}) for number in range(200)]
    lines[149] = "not json"
    path = tmp_path / f"a.jsonl{pack}"
    path.write_bytes(PACK[pack]("\n".join(lines).encode()))
    with refused_with("format") as caught:
        text_of(path)
    assert f"{path}, line 150 " in str(caught.value)


def test_a_csv_file_with_old_line_ends_and_a_line_end_in_a_field(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbfid,text\r1,"one\rline"\r2,two\r')
    assert text_of(tmp_path / "a.csv") == "one\rline\ntwo\n"


@pytest.mark.parametrize(("size", "number"), [(100, 1), (4 << 20, 4), (64 << 20, 32), (400 << 20, 50)])
def test_chunks_are_small_for_a_short_text_and_add_up_to_its_file(tmp_path, size, number):
    with (tmp_path / "text.txt").open("wb") as stream:
        for _ in range(size // 100):
            stream.write(b"plum " * 19 + b"tree\n")
    (source,) = find_sources([tmp_path / "text.txt"])
    found = [(len(chunk.text), chunk.bytes) for chunk in read_chunks(source)]
    assert abs(len(found) - number) <= 1
    assert [sum(sizes) for sizes in zip(*found, strict=True)] == [source.size, source.size]
