"""Every way in which a file comes in, with damaged files: never a traceback, never a trace left behind.

The suite tries a few dozen inputs, always the same; ``make fuzz`` tries thousands, drawn at random.
"""

import bz2
import gzip
import io
import json
import os
import pickle
import time
from functools import partial
from typing import get_args, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rarewords.cli.app import app
from tests.fuzz.bench import EXAMPLES, Bench, examples, survives
from tests.fuzz.damage import DEEP, ODD_VALUES, ODD_WORDS, damaged, mangled, words_files


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("bench"))


# Text

_SENTENCES = ["A ripe kumquat is sweet.", 'Two\nlines, "quoted".', "", "🍊 שלום e\u0301\u200b [MASK]"]
_PACK = {"": bytes, ".gz": partial(gzip.compress, mtime=0), ".bz2": bz2.compress}
_PACK[".zst"] = lambda raw: bytes(pa.compress(raw, "zstd", asbytes=True))


def _parquet():
    stream = io.BytesIO()
    pq.write_table(pa.table({"text": _SENTENCES}), stream)
    return stream.getvalue()


_FORMATS = {
    ".txt": "\n".join(_SENTENCES).encode(),
    ".jsonl": "".join(json.dumps({"text": one}) + "\n" for one in _SENTENCES).encode(),
    ".csv": b'id,text\n1,"A ripe kumquat, sweet."\n2,"Two\nlines"\n',
    ".tsv": b"id\ttext\n1\tA ripe kumquat\n",
    ".parquet": _parquet(),
}
_texts = st.one_of(
    st.sampled_from(sorted(_FORMATS)).flatmap(
        lambda form: st.one_of(
            damaged(_FORMATS[form]),
            mangled([{"text": "a"}, {"text": "b"}]),
            st.sampled_from([b"", b"\xff\xfea\x00", b"\xff" * 99, b"x" * 3_000_000, b"[" * DEEP, b"\x00" * 99]),
        ).map(lambda raw: (form, raw))
    )
)


@examples(9)
@given(_texts, st.sampled_from(sorted(_PACK)), st.data())
def test_text(bench, text, packing, data):
    form, raw = text
    packed = _PACK[packing](raw)
    if packing:
        packed = data.draw(st.one_of(st.just(packed), damaged(packed)))
    with bench.place() as folder:
        file = folder / f"text{form}{packing}"
        file.write_bytes(packed)
        command, out = data.draw(st.sampled_from(("build", "scan", "teach"))), ("--out", folder / "made")
        model = ("--model", bench["model"], "--set", "rule=any", "--workers", 1)
        if command == "scan":
            survives(folder, "scan", file, *model)
        elif command == "build":
            survives(folder, "corpus", "build", file, *out, "--workers", 1)
        else:
            survives(folder, "teach", file, "--words", bench["words.txt"], *model, *out)


# Glossaries

_GLOSSARIES = {
    ".csv": b'term,definition,synonyms\nkumquat,"a small, sour fruit",\nsalsify,a root,oyster plant\n',
    ".tsv": b"word\tmeaning\nkumquat\ta small fruit\n",
    ".jsonl": b'{"term": "kumquat", "definition": "a small fruit", "synonyms": ["a", "b"]}\n',
    ".md": b"| Term | Definition |\n|---|---|\n| **kumquat** | a small fruit |\n",
}


@examples(5)
@given(st.sampled_from(sorted(_GLOSSARIES)), st.data())
def test_glossaries(bench, form, data):
    raw = _GLOSSARIES[form]
    rows = st.lists(st.sampled_from(ODD_WORDS), min_size=2, max_size=3).map(",".join)
    ways = [damaged(raw), damaged(gzip.compress(raw, mtime=0)), st.just(b"[" * DEEP)]
    ways.append(st.lists(rows, max_size=4).map(lambda lines: "\n".join(lines).encode("utf-8", "replace")))
    if form == ".jsonl":
        ways += [mangled(json.loads(raw))] * 2
    with bench.place() as folder:
        file = folder / f"glossary{form}"
        file.write_bytes(data.draw(st.one_of(ways)))
        out = ("--out", folder / "made", "--model", bench["model"])
        survives(folder, "teach", "--glossary", file, *out)


# Lists of words


@examples(6)
@given(words_files, st.sampled_from(("ota", "infer", "teach", "compare")))
def test_words(bench, content, command):
    with bench.place() as folder:
        file, model = folder / "words.txt", ("--model", bench["model"])
        file.write_bytes(content)
        _with_words(bench, folder, file, command, model)


def _with_words(bench, folder, file, command, model):
    out = ("--out", folder / "made")
    if command == "ota":
        return survives(folder, "ota", "--words", file, *out, "--steps", 1, *model)
    if command == "infer":
        corpus = ("--corpus", bench["corpus"])
        return survives(folder, "mimic", "infer", "--words", file, *corpus, *out, *model)
    if command == "teach":
        return survives(folder, "teach", bench["corpus"], "--words", file, *out, *model)
    return survives(folder, "wnlampro", "compare", bench["a.json"], "--words", file)


@pytest.mark.parametrize("command", ["ota", "infer", "teach", "compare"])
def test_a_pipe_or_an_endless_file_is_no_list_of_words(bench, command):
    with bench.place() as folder:
        os.mkfifo(folder / "pipe")
        (folder / "endless").symlink_to("/dev/zero")
        for name in ("pipe", "endless", "missing", "."):
            code, said = _with_words(bench, folder, folder / name, command, ("--model", bench["model"]))
            assert code == 2
            assert str(folder / name) in said


@pytest.mark.parametrize("word", ["pipe", "endless"])
@pytest.mark.parametrize("option", ["embeddings", "settings", "data", "results", "counts", "text"])
def test_a_pipe_or_an_endless_file_is_no_other_file_either(bench, option, word):
    with bench.place() as folder:
        os.mkfifo(folder / "pipe")
        (folder / "endless").symlink_to("/dev/zero")
        file, model = folder / word, ("--model", bench["model"])
        given = {
            "embeddings": ("inject", "--embeddings", file, "--out", folder / "made", *model),
            "settings": ("corpus", "build", bench["text.txt"], "--out", folder / "made", "--settings", file),
            "data": ("wnlampro", "eval", "--data", file, "--out", folder / "made", *model),
            "results": ("wnlampro", "compare", file),
            "counts": ("wnlampro", "build", "--counts", file, "--out", folder / "made", *model),
            "text": ("corpus", "build", file, "--out", folder / "made"),
        }
        code, said = survives(folder, *given[option])
        assert code == 2
        assert str(file) in said or "WordNet" in said


def test_a_name_that_is_not_utf8(bench):
    with bench.place() as folder:
        code, said = survives(folder, "corpus", "build", bench["text.txt"], "--out", f"{folder}/\udcff")
        assert code == 2
        assert "is not UTF-8; rename" in said


@examples(1)
@given(st.sampled_from(ODD_WORDS), st.sampled_from(ODD_WORDS))
def test_questions(bench, word, name):
    with bench.place() as folder:
        survives(folder, "ask", "--model", bench["model"], f"a {word} is a _ .")
        survives(folder, "corpus", "show", bench["corpus"], word)
        if "\x00" not in name and "/" not in name:
            survives(folder, "corpus", "build", bench["text.txt"], "--out", folder / name, "--workers", 1)


# Corpora


@examples(9)
@given(st.sampled_from(("corpus.json", "words.arrow", "contexts.arrow", "sentences.arrow")), st.data())
def test_corpora(bench, name, data):
    raw = (bench["corpus"] / name).read_bytes()
    ways = [damaged(raw), st.none()]
    if name == "corpus.json":
        ways += [mangled(json.loads(raw))] * 3 + [st.just(b"[" * DEEP)]
    with bench.place() as folder:
        corpus = bench.replaced(folder, "corpus", name, data.draw(st.one_of(ways)))
        before = {path.name: path.read_bytes() for path in corpus.iterdir()}
        command = data.draw(st.sampled_from(("show", "word", "teach", "scan", "infer")))
        out, model = ("--out", folder / "made"), ("--model", bench["model"])
        words = ("--words", bench["words.txt"])
        commands = {
            "show": ("corpus", "show", corpus),
            "word": ("corpus", "show", corpus, "kumquat"),
            "teach": ("teach", corpus, *words, *model, *out),
            "scan": ("scan", corpus, *model),
            "infer": ("mimic", "infer", "--corpus", corpus, *words, *model, *out),
        }
        survives(folder, *commands[command])
        assert {path.name: path.read_bytes() for path in corpus.iterdir()} == before


# Embeddings


@st.composite
def _lying(draw, raw):
    """A safetensors file whose header says something else about what follows."""
    length = int.from_bytes(raw[:8], "little")
    header = draw(mangled(json.loads(raw[8 : 8 + length])))
    claimed = draw(st.sampled_from((len(header), len(header), len(header) + 1, 2**62, 2**64 - 1, 0)))
    return claimed.to_bytes(8, "little") + header + raw[8 + length :]


@examples(8)
@given(st.data())
def test_embeddings(bench, data):
    raw = bench["v.safetensors"].read_bytes()
    content = data.draw(st.one_of(damaged(raw), _lying(raw)))
    with bench.place() as folder:
        file = folder / "v.safetensors"
        file.write_bytes(content)
        out, model = ("--out", folder / "made"), ("--model", bench["model"])
        if data.draw(st.booleans()):
            survives(folder, "inject", "--embeddings", file, *out, *model)
        else:
            survives(folder, "wnlampro", "eval", "--embeddings", file, "--data", bench["data.tsv"], *out, *model)


# Folders of learners, mimic models and language models


@examples(8)
@given(st.sampled_from(("learner", "mimic")), st.data())
def test_learners(bench, kind, data):
    name = data.draw(st.sampled_from(sorted(path.name for path in bench[kind].iterdir())))
    raw = (bench[kind] / name).read_bytes()
    ways = [damaged(raw), st.none()]
    if name.endswith(".json"):
        ways += [mangled(json.loads(raw))] * 4
    if name.endswith(".safetensors"):
        ways += [_lying(raw)] * 2
    with bench.place() as folder:
        learner = bench.replaced(folder, kind, name, data.draw(st.one_of(ways)))
        words = ("--words", bench["words.txt"], "--corpus", bench["corpus"])
        model = ("--model", bench["model"], "--learner", learner)
        survives(folder, "mimic", "infer", *words, *model, "--out", folder / "made")


@examples(6)
@given(st.data())
def test_models(bench, data):
    name = data.draw(st.sampled_from(sorted(path.name for path in bench["model"].iterdir())))
    raw = (bench["model"] / name).read_bytes()
    ways = [damaged(raw), st.none()]
    if name.endswith(".json"):
        ways += [mangled(json.loads(raw))] * 4
    if name.endswith(".safetensors"):
        ways += [_lying(raw)] * 2
    with bench.place() as folder:
        model = bench.replaced(folder, "model", name, data.draw(st.one_of(ways)))
        if data.draw(st.booleans()):
            survives(folder, "ask", "--model", model, "a kumquat is a _ .")
        else:
            survives(folder, "scan", bench["text.txt"], "--model", model, "--workers", 1)


class _Trap:
    """Unpickled, it makes a folder."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_pickled_weights_and_remote_code_never_run(bench):
    with bench.place() as folder:
        model, trap = bench.replaced(folder, "model", "model.safetensors", None), folder / "trap"
        (model / "pytorch_model.bin").write_bytes(pickle.dumps(_Trap(trap)))
        assert survives(folder, "ask", "--model", model, "a _ .")[0] == 2
    with bench.place() as folder:
        config = json.loads((bench["model"] / "config.json").read_text())
        config |= {"model_type": "other", "auto_map": {"AutoConfig": "code.C", "AutoModelForMaskedLM": "code.M"}}
        model = bench.replaced(folder, "model", "config.json", json.dumps(config).encode())
        trap = folder / "trap"
        (model / "code.py").write_text(f"import os\nos.mkdir({str(trap)!r})\n")
        assert survives(folder, "ask", "--model", model, "a _ .")[0] == 2
        assert survives(folder, "scan", bench["text.txt"], "--model", model)[0] in (0, 2)
        assert not trap.exists()


# Time: processor time, which does not depend on what else runs


def test_random_bytes_and_words_that_are_prefixes_of_each_other_take_seconds(bench):
    model, chosen = ("--model", bench["model"], "--workers", 1), ("--set", "rule=any")
    longest = "zq" + "kumquat" * 6
    with bench.place() as folder:
        raw = np.random.default_rng(0).bytes(1_000_000)
        (folder / "bytes.txt").write_bytes(raw)
        (folder / "no-nulls.txt").write_bytes(raw.replace(b"\0", b""))
        (folder / "words.txt").write_text("\n".join(longest[: 4 + length] for length in range(40)))
        lines = (f"The {longest[: 4 + length]} is small.\n" for length in range(40))
        (folder / "text.txt").write_text("".join(lines) * 3)
        began = time.process_time()
        made = ("--out", folder / "made")
        for name in ("bytes.txt", "no-nulls.txt", "text.txt"):
            assert survives(folder, "scan", folder / name, "--phrases", *model, *chosen)[0] == 2
            assert survives(folder, "teach", folder / name, *made, *model, *chosen)[0] == 2
        given = ("teach", folder / "text.txt", "--words", folder / "words.txt", *made, *model)
        assert survives(folder, *given, "--set", "keep_all=true")[0] == 0
        assert time.process_time() - began < 60


# Settings, data sets, results

_COMMANDS = {
    "corpus": ("contexts", "window", "lower_case", "words", "min_count", "seed"),
    "infer": ("contexts", "length", "reading", "spelling"),
    "ota": ("steps", "frame", "seed", "rate"),
    "teach": ("top", "min_count", "contexts", "rule", "placement", "question"),
    "eval": ("method", "depth", "limit"),
}
_tomls = st.sampled_from(sorted(_COMMANDS)).flatmap(
    lambda command: st.tuples(
        st.just(command),
        st.one_of(
            st.tuples(st.sampled_from((*_COMMANDS[command], "x")), st.sampled_from(ODD_VALUES)).map(
                _toml := lambda pair: f"{pair[0]} = {json.dumps(pair[1])}\n".encode()
            ),
            damaged(b"contexts = 3\nseed = 1\n"),
            st.just(b"x = " + b"[" * DEEP),
        ),
    )
)


@examples(3)
@given(_tomls)
def test_settings(bench, drawn):
    command, content = drawn
    with bench.place() as folder:
        (folder / "s.toml").write_bytes(content)
        given = ("--settings", folder / "s.toml", "--out", folder / "made")
        model, words = ("--model", bench["model"]), ("--words", bench["words.txt"])
        corpus = ("--corpus", bench["corpus"])
        commands = {
            "corpus": ("corpus", "build", bench["text.txt"], "--workers", 1),
            "infer": ("mimic", "infer", *words, *corpus, *model),
            "ota": ("ota", *words, *model),
            "teach": ("teach", bench["corpus"], *words, *model),
            "eval": ("wnlampro", "eval", "--data", bench["data.tsv"], *model),
        }
        survives(folder, *commands[command], *given)


@examples(3)
@given(st.booleans(), st.data())
def test_data_sets_and_results(bench, results, data):
    raw = bench["a.json" if results else "data.tsv"].read_bytes()
    ways = [damaged(raw), damaged(gzip.compress(raw, mtime=0)), st.just(b"[" * DEEP)]
    if results:
        ways += [mangled(json.loads(raw))] * 4
    with bench.place() as folder:
        file = folder / "file"
        file.write_bytes(data.draw(st.one_of(ways)))
        if results:
            survives(folder, "wnlampro", "compare", bench["b.json"], file, "--words", bench["words.txt"])
        else:
            out = ("--out", folder / "made", "--model", bench["model"])
            survives(folder, "wnlampro", "eval", "--data", file, *out)


# Numbers

_NUMBERS = {
    ("corpus", "build"): ("--contexts", "--workers"),
    ("corpus", "show"): ("--contexts",),
    ("teach",): ("--top", "--min-count", "--workers"),
    ("scan",): ("--top", "--min-count", "--workers"),
    ("mimic", "fit"): ("--contexts", "--min-count"),
    ("mimic", "infer"): ("--contexts",),
    ("wnlampro", "eval"): ("--limit",),
    ("ask",): ("--top",),
}
_ENDLESS = {"--steps"}  # as many as there are
_UNTRIED = {("serve", "--port")}


def _integer_options(group, path=()):
    """(a command, an option) for each option that takes an integer."""
    for inner in group.registered_groups:
        yield from _integer_options(inner.typer_instance, (*path, inner.name))
    for command in group.registered_commands:
        name = (*path, command.name or command.callback.__name__)
        for parameter, hint in get_type_hints(command.callback, include_extras=True).items():
            kind, *about = get_args(hint) or (hint,)
            spelled = (one for one in about[:1] for one in one.param_decls or ())
            if int in (kind, *get_args(kind)):
                yield name, next(spelled, "--" + parameter.replace("_", "-"))


def test_every_option_that_takes_an_integer_is_tried():
    found = {(name, option) for name, option in _integer_options(app) if option not in _ENDLESS}
    tried = {(name, option) for name, options in _NUMBERS.items() for option in options}
    assert {(name, option) for name, option in found - tried} == {
        (tuple(name.split()), option) for name, option in _UNTRIED
    }
    assert tried <= found


@pytest.mark.parametrize("number", [-1, 2**31, 2**63, *([10**30] if EXAMPLES else [])])
@pytest.mark.parametrize("command", _NUMBERS, ids=" ".join)
def test_numbers_beyond_all_bounds(bench, command, number):
    model, words, corpus = (
        (f"--{name}", bench[file]) for name, file in (("model", "model"), ("words", "words.txt"), ("corpus", "corpus"))
    )
    given = {
        ("corpus", "build"): (bench["text.txt"],),
        ("corpus", "show"): (bench["corpus"], "kumquat"),
        ("teach",): (bench["text.txt"], *model),
        ("scan",): (bench["text.txt"], *model),
        ("mimic", "fit"): (*corpus, *model),
        ("mimic", "infer"): (*corpus, *words, *model),
        ("wnlampro", "eval"): ("--data", bench["data.tsv"], *model),
        ("ask",): (*model, "a _ ."),
    }
    for option in _NUMBERS[command]:
        with bench.place() as folder:
            out = () if command[0] in ("ask", "scan") or command[-1] == "show" else ("--out", folder / "made")
            code, said = survives(folder, *command, *given[command], *out, f"{option}={number}")
            assert number > 0 or (code == 2 and option in said)
