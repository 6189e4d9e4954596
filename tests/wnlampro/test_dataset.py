"""The published format, the entries' rules, and the data set that ships."""

import gzip
from collections import Counter
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rarewords.wnlampro.dataset import AnnotatedWord, Dataset, Entry, band_of, load, patterns_for
from tests.errors import refused_with

LINES = (
    "1\ttest\tnew (a,6.15,95092)\tantonym\told (a,5.63,28847)\n"
    "2\tdev\tlingonberry (n,1.17,1)\thypernym\tfruit (n,4.73,3658)\tbush (n,4.30,1351)\n"
)

words = st.builds(
    AnnotatedWord,
    st.text("abcdefghij.-", min_size=1, max_size=8),
    st.sampled_from("nax"),
    st.integers(0, 800).map(lambda hundredths: hundredths / 100),
    st.integers(0, 10**7),
)
entries = st.lists(
    st.tuples(
        st.sampled_from(("dev", "test")),
        words,
        st.sampled_from(("antonym", "hypernym", "cohyponym", "corruption")),
        st.lists(words, min_size=1, max_size=5).map(tuple),
    ),
    min_size=1,
    max_size=8,
).map(lambda rows: tuple(Entry(str(number), *row) for number, row in enumerate(rows)))


def test_published_format_is_read(tmp_path):
    path = tmp_path / "w.txt"
    path.write_text(LINES)
    dataset = load(path)
    assert dataset.entries[1].word == AnnotatedWord("lingonberry", "n", 1.17, 1)
    assert [target.text for target in dataset.entries[1].targets] == ["fruit", "bush"]
    assert dataset.entries[0].relation == "antonym"
    assert dataset.entries[0].subset == "test"
    assert dataset.text() == LINES


@given(entries)
@settings(max_examples=50, deadline=None)
def test_written_and_read_again_is_the_same(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("round")
    dataset = Dataset(made)
    for name in ("w.tsv", "w.tsv.gz"):
        dataset.save(folder / name)
        again = load(folder / name)
        assert again.entries == made
        assert again.digest == dataset.digest


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("3\ttest\tlime (n,4.0,7)\thypernym", "4 columns"),
        ("3\ttrain\tlime (n,4.0,7)\thypernym\tfruit (n,4.7,3)", "'train'"),
        ("3\ttest\tlime\thypernym\tfruit (n,4.7,3)", "'lime' does not have the form"),
        ("3\ttest\tlime (n,4.0,7)\tmeronym\tfruit (n,4.7,3)", "'meronym'"),
        ("3\ttest\tlime (n,4.0,7)\thypernym\tfruit (n,4.7,many)", "many"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, reason):
    path = tmp_path / "w.tsv"
    path.write_text(LINES + "\n" + line + "\n")
    with refused_with("wnlampro") as caught:
        load(path)
    assert "w.tsv, line 4: " in str(caught.value)
    assert reason in str(caught.value)


def test_files_that_are_no_data_set_are_refused(tmp_path):
    with refused_with("missing-file"):
        load(tmp_path / "none.tsv")
    with refused_with("unreadable"):
        load(tmp_path)
    (tmp_path / "cut.tsv.gz").write_bytes(gzip.compress(LINES.encode())[:-12])
    with refused_with("damaged"):
        load(tmp_path / "cut.tsv.gz")
    (tmp_path / "empty.tsv").write_text("\n")
    with refused_with("no-text"):
        load(tmp_path / "empty.tsv")
    twice = tmp_path / "twice.tsv"
    twice.write_text(LINES + LINES)
    with refused_with("wnlampro"):
        load(twice)


def test_selection(bundled):
    chosen = bundled.select(subset="dev")
    assert list(chosen) == [entry for entry in bundled if entry.subset == "dev"]
    limited = bundled.select(limit=300)
    assert len(limited) == 300
    assert {e.relation for e in limited} == {"antonym", "hypernym", "cohyponym", "corruption"}
    with refused_with("wnlampro"):
        Dataset(chosen).select(subset="test")
    with refused_with("settings"):
        bundled.select(subset="train")


def test_a_word_is_rare_below_10_and_frequent_from_100():
    bands = [band_of(count) for count in (0, 9, 10, 99, 100)]
    assert bands == ["rare", "rare", "medium", "medium", "frequent"]


def test_shipped_data_set_has_the_papers_shape(bundled):
    sizes = Counter((e.relation, band_of(e.word.count)) for e in bundled)
    paper = {
        ("hypernym", "rare"): 1191,
        ("hypernym", "medium"): 1785,
        ("hypernym", "frequent"): 4750,
        ("cohyponym", "rare"): 1960,
        ("cohyponym", "medium"): 2740,
        ("cohyponym", "frequent"): 6126,
    }
    for cell, size in paper.items():
        assert size / 3 < sizes[cell] < size * 3, cell
    assert sizes["corruption", "rare"] == 2880
    assert sizes["corruption", "medium"] == sizes["corruption", "frequent"] == 0
    targets = {r: [len(e.targets) for e in bundled if e.relation == r] for r in ("hypernym", "cohyponym")}
    assert min(targets["hypernym"]) >= 3
    assert max(targets["hypernym"]) <= 20
    assert min(targets["cohyponym"]) >= 10
    assert max(targets["cohyponym"]) == 50
    assert 3.5 < fmean(targets["hypernym"]) < 5
    share = sum(e.subset == "dev" for e in bundled) / len(bundled)
    assert share == pytest.approx(0.1, abs=0.001)


def test_shipped_data_set_has_the_papers_examples(bundled):
    found = {(e.word.text, e.relation): {t.text for t in e.targets} for e in bundled}
    assert found["new", "antonym"] == {"old"}
    assert found["general", "antonym"] == {"specific"}
    assert found["book", "hypernym"] >= {"product", "publication"}
    assert found["basketball", "hypernym"] >= {"game", "ball", "sport"}
    assert found["lingonberry", "hypernym"] >= {"fruit", "bush", "berry"}
    assert found["samosa", "cohyponym"] >= {"pizza", "sandwich", "salad"}
    assert found["harmonium", "cohyponym"] >= {"brass", "flute", "sax"}
    assert found["immorality", "cohyponym"] >= {"crime", "evil", "sin", "fraud"}


def test_every_shipped_target_is_a_whole_word_of_the_bundled_model(bundled, lm):
    assert {t.text for e in bundled for t in e.targets} <= lm.whole_words.keys()


def test_hypernym_articles():
    # Before the keyword its first letter decides, before the blank both are tried.
    assert patterns_for("hypernym", "onion") == (
        "<W> is a _.",
        "<W> is an _.",
        "an <W> is a _.",
        "an <W> is an _.",
        '"<W>" refers to a _.',
        '"<W>" refers to an _.',
        "<W> is a kind of _.",
        "an <W> is a kind of _.",
    )
    assert patterns_for("hypernym", "lime")[2] == "a <W> is a _."


def test_the_other_patterns_of_the_papers_table():
    assert patterns_for("antonym", "new") == (
        "<W> is the opposite of _.",
        "<W> is not _.",
        "someone who is <W> is not _.",
        "something that is <W> is not _.",
        '"<W>" is the opposite of "_".',
    )
    assert patterns_for("cohyponym", "lime") == ("<W> and _.", '"<W>" and "_".')
    assert patterns_for("corruption", "liem") == ('"<W>" is a misspelling of "_".', '"<W>". did you mean "_"?')
