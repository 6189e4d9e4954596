"""Glossaries in every form that users have them in, and models taught from them."""

import gzip
import json

import pytest

from rarewords import LanguageModel, Query, TeachSettings, teach
from rarewords.injection.taught import taught_tokens
from rarewords.teaching.glossary import NO_DEFINITION, GlossaryEntry, read_glossary
from rarewords.teaching.words import KNOWN
from tests.architectures import sentence_transformer, small_causal
from tests.errors import refused_with

ROWS = [
    ("paxlovid", "an oral antiviral pill, used to treat COVID-19"),
    ("deep vein thrombosis", "a blood clot in a leg"),
]

MARKDOWN = """Terms

| Term | Definition |
|---|:--|
|**paxlovid**|{0}|
|deep vein thrombosis|{1}|
"""

JSON_LINES = """{{"term": "paxlovid", "definition": "{0}"}}
{{"word": "deep vein thrombosis", "meaning": "{1}"}}
"""


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'term,definition\npaxlovid,"{0}"\ndeep vein thrombosis,{1}\n'),
        ("a.csv.gz", 'Term,Definition\npaxlovid,"{0}"\ndeep vein thrombosis,{1}\n'),
        ("b.csv", 'paxlovid,"{0}"\ndeep vein  thrombosis,{1}\n'),
        ("c.csv", "definition;notes;term\n{0};x;paxlovid\n{1};;deep vein thrombosis\n"),
        ("d.tsv", "word\tmeaning\npaxlovid\t{0}\n\ndeep vein thrombosis\t{1}\n"),
        ("e.jsonl", JSON_LINES),
        ("f.md", MARKDOWN),
        ("g.csv", "\ufeffTerm;Definition;;\r\npaxlovid;{0}\r\ndeep vein thrombosis;{1}\r\n"),
        ("h.csv", "sep=;\r\nTerm;Definition\r\npaxlovid;{0}\r\ndeep vein thrombosis;{1}\r\n"),
        ("i.csv", "paxlovid;{0}\ndeep vein thrombosis;{1}\n"),
        ("j.csv", "paxlovid,{0}\ndeep vein thrombosis,{1}\n"),
        ("k.csv", 'Begriff,Definition\npaxlovid,"{0}"\ndeep vein thrombosis,{1}\n'),
    ],
)  # fmt: skip
def test_every_form_gives_the_same_entries(tmp_path, name, text):
    path = written(tmp_path, name, text.format(*(definition for _, definition in ROWS)))
    assert read_glossary(path) == {term: GlossaryEntry((definition,)) for term, definition in ROWS}
    assert read_glossary(dict(ROWS)) == read_glossary(path)


def test_synonyms_abbreviations_and_examples(tmp_path):
    text = "term,definition,synonyms,abbreviation,example\n"
    text += "key figure,a number,metric; measure,KPI,Our key figure fell.\n"
    found = read_glossary(written(tmp_path, "a.csv", text))
    assert found["key figure"] == GlossaryEntry(("a number", "metric", "measure"), ("Our key figure fell.",))
    assert found["KPI"].definitions == ("a number", "metric", "measure", "key figure")


def test_a_term_with_two_definitions_keeps_both():
    assert read_glossary({"seshie": ["a musician", "a fan"]})["seshie"].definitions == ("a musician", "a fan")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", ""),
        ("a.csv", "term,definition\n"),
        ("a.csv", "paxlovid\ncompersion\n"),
        ("a.csv", 'paxlovid,a pill\ngreeze,"a ski slope\nseshie,a musician\n'),
        ("a.csv", "paxlovid,a pill\n,a ski slope\n"),
        ("a.csv", "term,definition,example\npaxlovid,a pill, taken by mouth,She took it.\n"),
        ("a.csv", "paxlovid,a \0pill\n"),
        ("a.xlsx", "PK\x03\x04\0\0\n"),
        ("a.jsonl", "paxlovid\n"),
        ("a.jsonl", '{"term": 5, "definition": "x"}\n'),
        ("a.jsonl", json.dumps(["paxlovid", "x"]) + "\n"),
        ("a.md", "no table here\n"),
    ],
)
def test_a_file_that_is_no_glossary_is_refused(tmp_path, name, text):
    path = written(tmp_path, name, text)
    with refused_with("glossary") as refused:
        read_glossary(path)
    assert path.name in str(refused.value)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le"])
def test_another_encoding_is_refused_with_a_remedy(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes("term,definition\ncafé,ein Getränk\n".encode(encoding))
    with refused_with("unreadable") as refused:
        read_glossary(path)
    assert "save" in str(refused.value)


def test_a_dict_with_empty_cells_of_a_table():
    assert read_glossary({"naur": "no", "greeze": None, "seshie": float("nan")}) == {
        "naur": GlossaryEntry(("no",)),
        "greeze": GlossaryEntry(),
        "seshie": GlossaryEntry(),
    }


@pytest.mark.parametrize(
    "source", [{"naur": 5}, {5: "no"}, {"naur": {"definition": "no"}}, {"naur": ["no", None]}, [("naur", "no")], None]
)
def test_an_object_that_is_no_glossary_is_refused(source):
    with refused_with("glossary"):
        read_glossary(source)


def test_a_bar_inside_a_cell_of_a_markdown_table(tmp_path):
    path = written(tmp_path, "a.md", "| term | definition |\n|---|---|\n| pipe | the mark \\| in a shell |\n")
    assert read_glossary(path)["pipe"].definitions == ("the mark | in a shell",)


def test_a_hundred_thousand_rows(tmp_path):
    text = "".join(f"term {number},a thing with number {number}\n" for number in range(100_000))
    assert len(read_glossary(written(tmp_path, "a.csv", text))) == 100_000


def test_a_term_without_a_definition_has_an_empty_entry(tmp_path):
    listed = read_glossary(written(tmp_path, "a.csv", "term,definition\ngreeze,\nseshie\nnaur,no\n"))
    assert [bool(entry.definitions) for entry in listed.values()] == [False, False, True]
    assert read_glossary({"greeze": " ", "seshie": []}) == {"greeze": GlossaryEntry(), "seshie": GlossaryEntry()}
    with refused_with("glossary"):
        read_glossary({" ": "a definition of nothing"})


def test_a_masked_model_is_taught_from_definitions_alone(lm, tmp_path):
    glossary = {**dict(ROWS), "greeze": " ", "water": "a liquid"}
    taught = teach(lm, glossary=glossary)
    assert [word.word for word in taught.taught] == [term for term, _ in ROWS]
    assert taught.skipped == {"greeze": NO_DEFINITION, "water": KNOWN}
    paxlovid = taught.words[0]
    assert "drug" in paxlovid.after[:3]
    assert "drug" not in paxlovid.before
    taught.save_pretrained(tmp_path / "out")
    again = LanguageModel.from_pretrained(tmp_path / "out", device="cpu")
    assert "drug" in again.fill([Query("paxlovid is a kind of _.")], top_k=5).words(0)


def test_sentences_of_a_text_count_as_well(lm):
    texts = ["He took paxlovid.", "The doctor gave her paxlovid.", "Only paxlovid helped."]
    taught = teach(lm, texts=texts, glossary=dict(ROWS))
    assert {word.word: word.contexts for word in taught.words} == {"paxlovid": 3, "deep vein thrombosis": 0}
    assert taught.words[0].check is not None


def test_words_choose_among_the_terms(lm):
    taught = teach(lm, glossary=dict(ROWS), words=["Paxlovid"])
    assert [word.word for word in taught.words] == ["paxlovid"]


@pytest.mark.parametrize("kind", ["causal", "encoder"])
def test_causal_models_and_encoders_are_taught_through_the_reader_model(kind, tmp_path):
    if kind == "encoder":
        sentence_transformer(tmp_path / kind)
    else:
        for part in small_causal("llama"):
            part.save_pretrained(tmp_path / kind)
    example = {} if kind == "encoder" else {"texts": ["She took paxlovid for five days."]}
    taught = teach(tmp_path / kind, glossary=dict(ROWS[:1]), device="cpu", **example)
    assert [word.word for word in taught.taught] == ["paxlovid"]
    assert taught.language_model.kind == kind
    lm = taught.language_model
    assert next(iter(taught_tokens(lm.model, lm.tokenizer))) == "paxlovid"


def test_a_causal_lm_is_not_taught_from_a_definition_alone(tmp_path):
    for part in small_causal("llama"):
        part.save_pretrained(tmp_path / "causal")
    with refused_with("nothing-to-teach"):
        teach(tmp_path / "causal", glossary=dict(ROWS[:1]), device="cpu")
    anyway = teach(tmp_path / "causal", glossary=dict(ROWS[:1]), settings=TeachSettings(keep_all=True), device="cpu")
    assert [word.word for word in anyway.taught] == ["paxlovid"]
