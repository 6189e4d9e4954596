"""Building corpora: correct, the same bytes however the text is split, and never half finished."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest

from rarewords._internal import progress
from rarewords._internal.cache import FINISHED_PARTS
from rarewords.corpus import build as module
from rarewords.corpus import part, read, sources
from rarewords.corpus.build import build
from rarewords.corpus.corpus import Corpus
from rarewords.corpus.settings import CorpusSettings
from tests.corpus import reference
from tests.corpus.conftest import digests, tables
from tests.errors import refused_with

SMALL = CorpusSettings(contexts=50, window=5, seed=3)


@pytest.fixture
def many_parts(monkeypatch):
    """Cut files into chunks so small that the test text has many."""
    for name in ("SMALL_CHUNK", "_BLOCK"):
        monkeypatch.setattr(read, name, 20_000)


@pytest.fixture(scope="module")
def reference_corpus(wikipedia, tmp_path_factory):
    """A corpus of the test text from one process."""
    folder = tmp_path_factory.mktemp("reference")
    (folder / "all.txt").write_text(wikipedia, "utf-8")
    return build([folder / "all.txt"], folder / "corpus", SMALL, workers=1)


def test_agrees_with_the_slow_implementation(wikipedia, tmp_path):
    text = wikipedia[:120_000]
    (tmp_path / "text.txt").write_text(text, "utf-8")
    settings = CorpusSettings(contexts=20, window=4, seed=7)
    corpus = build([tmp_path / "text.txt"], tmp_path / "corpus", settings, workers=1)
    counts, contexts = reference.corpus(text, settings.window)
    assert dict(zip(*(corpus.words[name].to_pylist() for name in ("word", "count")), strict=True)) == dict(counts)
    kept = {word for word in counts if all("a" <= c <= "z" or c in ".-" for c in word) and len(word) <= 64}
    words, numbers = corpus.counts()
    assert set(words) == kept
    assert numbers.tolist() == sorted((counts[word] for word in kept), reverse=True)
    assert max(len(found) for found in contexts.values()) > settings.contexts
    for word in sorted(kept)[::7] + [word for word, _ in counts.most_common(30) if word in kept]:
        found = [reference.around(c.sentence, c.start, settings.window) for c in corpus.contexts(word)]
        ordered = sorted(contexts[word], key=lambda c: reference.context_hash(c, settings.seed))
        assert found == ordered[: settings.contexts], word


def test_contexts_contain_their_word_and_counts_add_up(reference_corpus):
    corpus = reference_corpus
    assert sum(corpus.words["count"].to_pylist()) == corpus.totals.words
    words, counts = corpus.counts(min_count=3)
    assert counts.min() == 3
    for word, count in list(zip(words, counts.tolist(), strict=True))[::50]:
        contexts = corpus.contexts(word)
        assert 1 <= len(contexts) <= min(count, SMALL.contexts)
        assert len({reference.around(c.sentence, c.start, SMALL.window) for c in contexts}) == len(contexts)
        assert all(c.sentence[c.start : c.end].lower() == word for c in contexts)
        assert corpus.contexts(word, 3) == contexts[:3]


@pytest.mark.slow
@pytest.mark.usefixtures("many_parts")
def test_same_bytes_from_any_split_and_any_number_of_workers(reference_corpus, wikipedia, tmp_path):
    lines = wikipedia.splitlines(keepends=True)
    (tmp_path / "one.txt").write_text(wikipedia, "utf-8")
    one = build([tmp_path / "one.txt"], tmp_path / "one", SMALL, workers=1)
    assert digests(one.path) == digests(reference_corpus.path)
    folder = tmp_path / "files"
    folder.mkdir()
    # Other files in another order, in several formats.
    thirds = [lines[::3], lines[1::3], lines[2::3]]
    (folder / "a.txt").write_text("".join(thirds[2]).replace("\n", "\r\n"), "utf-8", newline="")
    (folder / "b.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in thirds[0]), "utf-8")
    (folder / "c.txt.gz").write_bytes(gzip.compress("".join(thirds[1]).encode()))
    (folder / "empty.txt").touch()
    two = build([folder], tmp_path / "two", SMALL, workers=2)
    assert tables(two.path) == tables(reference_corpus.path)
    assert (two.totals, two.key) == (reference_corpus.totals, reference_corpus.key)


@pytest.fixture
def halves(wikipedia, tmp_path):
    """The text in two files."""
    lines = wikipedia.splitlines(keepends=True)
    for name, some in (("a", lines[:600]), ("b", lines[600:])):
        (tmp_path / f"{name}.txt").write_text("".join(some), "utf-8")
    return tmp_path


def test_a_small_text_starts_no_processes(tmp_path, monkeypatch):
    def refuse(*_):
        raise AssertionError("started a process")

    monkeypatch.setattr("rarewords._internal.engine.ProcessPoolExecutor", refuse)
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"The {name} is small.\n", "utf-8")
    assert build([tmp_path], tmp_path / "corpus", SMALL).count("small") == 2
    with pytest.raises(AssertionError, match="started"):
        build([tmp_path], tmp_path / "again", SMALL, workers=2)


def test_the_split_of_the_text_does_not_matter(reference_corpus, halves, monkeypatch):
    both = build([halves / "b.txt", halves / "a.txt"], halves / "both", SMALL, workers=1)
    assert tables(both.path) == tables(reference_corpus.path)
    # With ranges so small that each step of the merge has many.
    for name, size in (("CONTEXTS_PER_RANGE", 9000), ("SENTENCES_PER_RANGE", 1000)):
        monkeypatch.setattr(module, name, size)
    monkeypatch.setattr(part, "_CONTEXTS_AT_ONCE", 2000)
    ranges = build([halves / "a.txt", halves / "b.txt"], halves / "ranges", SMALL, workers=1)
    assert digests(ranges.path) == digests(both.path)
    assert sorted(path.name for path in halves.iterdir()) == ["a.txt", "b.txt", "both", "ranges"]


def test_record_batches_do_not_depend_on_the_ranges(reference_corpus, halves, monkeypatch):
    for name in ("words", "contexts"):  # readers count on the batches of sentences
        monkeypatch.setitem(module._ROWS, name, module._ROWS[name] >> 13)
    one = build([halves / "a.txt", halves / "b.txt"], halves / "one", SMALL, workers=1)
    monkeypatch.setattr(module, "CONTEXTS_PER_RANGE", 9000)
    monkeypatch.setattr(module, "SENTENCES_PER_RANGE", 1000)
    two = build([halves / "b.txt", halves / "a.txt"], halves / "two", SMALL, workers=1)
    assert digests(one.path) == digests(two.path) != digests(reference_corpus.path)
    for word in ("the", "zero", "informal"):
        assert two.contexts(word) == reference_corpus.contexts(word)
    assert two.counts()[0] == reference_corpus.counts()[0]


def test_a_text_counts_once_however_often_it_is_given(halves, capsys):
    shutil.copy(halves / "a.txt", halves / "copy.txt")
    progress.enable()
    try:
        files = [halves / name for name in ("a.txt", "copy.txt", "b.txt", "a.txt")]
        corpus = build(files, halves / "all", SMALL, workers=1)
        assert capsys.readouterr().err.count("copy.txt: its text has already been read") == 1
    finally:
        progress.enable(False)
    once = build([halves / "b.txt", halves / "a.txt"], halves / "once", SMALL, workers=1)
    assert digests(corpus.path) == digests(once.path)
    assert not list(halves.glob(".*"))


def test_a_text_without_contexts_and_one_with(tmp_path):
    (tmp_path / "a.txt").write_text("Ελλάδα 1945.\n", "utf-8")
    (tmp_path / "b.txt").write_text("Some words.\n", "utf-8")
    corpus = build([tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "both", workers=1)
    assert (corpus.count("ελλάδα"), corpus.counts()[0]) == (1, ["some", "words"])


def test_min_count_and_seed_and_window(wikipedia, tmp_path, reference_corpus):
    (tmp_path / "text.txt").write_text(wikipedia, "utf-8")
    settings = CorpusSettings(contexts=50, window=5, seed=3, min_count=10)
    corpus = build([tmp_path / "text.txt"], tmp_path / "corpus", settings, workers=1)
    words, counts = corpus.counts()
    assert (words, counts.tolist()) == (lambda w, c: (w, c.tolist()))(*reference_corpus.counts(min_count=10))
    assert corpus.contexts("zero") == reference_corpus.contexts("zero")
    assert corpus.count("informal") == reference_corpus.count("informal") < 10
    assert corpus.contexts("informal") == []
    other = CorpusSettings(contexts=50, window=5, seed=4)
    another = build([tmp_path / "text.txt"], tmp_path / "other", other, workers=1)
    first, second = ({c.sentence for c in s.contexts("the")} for s in (reference_corpus, another))
    assert len(first & second) < len(first) / 2


def test_cased_corpus_keeps_capitals(tmp_path):
    (tmp_path / "text.txt").write_text("Polish people polish Polish shoes.\n" * 2)
    corpus = build([tmp_path / "text.txt"], tmp_path / "corpus", CorpusSettings(lower_case=False), workers=1)
    assert (corpus.count("Polish"), corpus.count("polish")) == (4, 2)
    assert [context.start for context in corpus.contexts("polish")] == [14]
    assert len(corpus.contexts("Polish")) == 2


def test_any_script(tmp_path):
    (tmp_path / "text.txt").write_text("Ελλάδα naïve हिन्दी 1945 3rd.\n", "utf-8")
    english = build([tmp_path / "text.txt"], tmp_path / "english", workers=1)
    any_script = build([tmp_path / "text.txt"], tmp_path / "any", CorpusSettings(words="any"), workers=1)
    assert english.counts()[0] == []
    assert set(any_script.counts()[0]) == {"ελλάδα", "naïve", "हिन्दी", "3rd"}
    assert any_script.contexts("ΕΛΛΆΔΑ") == [("Ελλάδα naïve हिन्दी 1945 3rd.", 0, 6)]


KILLED = """
import sys
from rarewords.corpus import read
from rarewords.corpus.build import build
from rarewords.corpus.settings import CorpusSettings
read.SMALL_CHUNK = read._BLOCK = 20_000
build([sys.argv[1]], sys.argv[2], CorpusSettings(contexts=50, window=5, seed=3), workers=2)  # without a guard
"""


@pytest.mark.slow
@pytest.mark.usefixtures("many_parts")
@pytest.mark.parametrize("wanted", [3, 12])
def test_a_killed_build_resumes(reference_corpus, text_file, tmp_path, monkeypatch, wanted):
    (tmp_path / "run.py").write_text(KILLED)
    out = tmp_path / "corpus"
    work = tmp_path / ".corpus.work"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, tmp_path / "run.py", text_file, out], env=environment, start_new_session=True
    )
    while len(list(work.glob(FINISHED_PARTS))) < wanted:
        assert process.poll() is None
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = {path.parent for path in work.glob(FINISHED_PARTS)}
    assert len(done) >= wanted
    assert not out.exists()
    with refused_with("corpus"):
        Corpus.open(out)

    made = []
    original = module.part_of_text
    monkeypatch.setattr(module, "part_of_text", lambda *a: (made.append(a[-1]), original(*a)))
    corpus = build([text_file], out, SMALL, workers=1)
    assert made
    assert not done & set(made)
    assert digests(corpus.path) == digests(reference_corpus.path)
    assert not work.exists()


@pytest.mark.usefixtures("many_parts")
def test_changed_text_is_read_again_after_an_interruption(text_file, tmp_path, monkeypatch):
    with monkeypatch.context() as context:
        context.setattr(module, "merge_parts", lambda *_a, **_k: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            build([text_file], tmp_path / "corpus", SMALL, workers=1)
    assert list((tmp_path / ".corpus.work").glob(FINISHED_PARTS))
    text_file.write_text("Quite another text.\n")
    corpus = build([text_file], tmp_path / "corpus", SMALL, workers=1)
    assert corpus.totals.words == 3


@pytest.mark.usefixtures("text_file")
def test_a_build_inside_the_folder_of_its_text_resumes(tmp_path, monkeypatch):
    with monkeypatch.context() as context:
        context.setattr(module, "merge_parts", lambda *_a, **_k: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            build([tmp_path], tmp_path / "corpus", SMALL, workers=1)
    assert list((tmp_path / ".corpus.work").rglob("*.json"))
    assert build([tmp_path], tmp_path / "corpus", SMALL, workers=1).totals.words > 10_000


def test_touched_text_is_not_read_again_after_an_interruption(text_file, tmp_path, monkeypatch):
    with monkeypatch.context() as context:
        context.setattr(module, "merge_parts", lambda *_a, **_k: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            build([text_file], tmp_path / "corpus", SMALL, workers=1)
    os.utime(text_file, (1, 1))
    monkeypatch.setattr(module, "part_of_text", lambda *_: pytest.fail("this part is finished"))
    assert build([text_file], tmp_path / "corpus", SMALL, workers=1).totals.words > 10_000


def test_corpus_is_not_much_larger_than_its_text(reference_corpus, wikipedia):
    size = sum(path.stat().st_size for path in reference_corpus.path.iterdir())
    # One megabyte has many words for its size; a corpus of 259 MB is smaller than its text.
    assert size < 2 * len(wikipedia.encode())


def test_counts_are_those_of_a_plain_counter(reference_corpus, wikipedia):
    plain = Counter(word.strip(".,;:()[]\"'").lower() for word in wikipedia.split())
    for word in ("number", "century", "river", "mathematics"):
        assert np.isclose(reference_corpus.count(word), plain[word], rtol=0.1), word


def test_of_a_damaged_file_nothing_is_kept_but_of_the_others_what_is_finished(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "SMALL_CHUNK", 1000)
    good = [json.dumps({"text": f"word number {n}"}) + "\n" for n in range(200)]
    (tmp_path / "a.jsonl").write_text("".join(good))
    (tmp_path / "b.jsonl").write_text("".join(good[1:]) + "damaged\n")
    work = tmp_path / ".corpus.work"
    with refused_with("format"):
        build([tmp_path / "b.jsonl"], tmp_path / "corpus", SMALL, workers=1)
    assert not work.exists()
    with refused_with("format"):
        build([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], tmp_path / "corpus", SMALL, workers=1)
    (source,) = sources.find_sources([tmp_path / "a.jsonl"])
    assert len(list(work.glob(FINISHED_PARTS))) == len(list(read.read_chunks(source))) > 1
