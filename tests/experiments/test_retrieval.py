"""The experiment on retrieval: BM25, fusion, renamed collections."""

import numpy as np
import pytest

from experiments.collection import Collection
from experiments.retrieval.collections import _NO_TITLE, _as_text, read_abstracts, rename
from experiments.retrieval.rankers import bm25, fuse
from rarewords.wnlampro.builder import open_wordnet

DOCUMENTS = ["a kumquat and the sea", "the sea and the sea and the ship", "a ship"]


def test_bm25_finds_rare_words_first_and_plurals():
    scores = bm25(["the kumquats and a sea", "lantern"], DOCUMENTS)
    assert scores[0].argmax() == 0
    assert scores[0, 1] > scores[0, 2]
    assert not scores[1].any()


def test_bm25_is_that_of_the_formula():
    (score,) = bm25(["kumquat"], ["kumquat kumquat sea sea", "ship sea"])[:, 0]
    rarity = np.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    assert score == pytest.approx(rarity * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 4 / 3)))


def test_a_document_without_the_words_gets_nothing_from_bm25():
    fused = fuse(np.array([[0.0, 2.0, 0.0]]), np.array([[0.3, 0.1, 0.2]]))
    assert fused[0] == pytest.approx([1 / 61, 1 / 61 + 1 / 63, 1 / 62])


def test_queries_of_all_kinds():
    try:
        open_wordnet()
    except Exception as error:
        pytest.skip(str(error))
    documents = {str(n): f"the penguin is one of {n} kinds" for n in range(3)}
    queries = {"a": "Is an penguin large?", "b": "Is a whale large?"}
    found = rename(Collection(documents, queries, {"a": {"1"}, "b": {"2"}}), 5, {})
    (name,) = found.names.values()
    assert found.collection.queries == {
        "name:a": f"Is an {name} large?",
        "plural:a": f"is an {name}s large?".capitalize(),
        "known noun:a": queries["a"],
        "kind:a": "is an sphenisciform seabird large?",
        "without:b": queries["b"],
    }
    assert found.collection.relevant["kind:a"] == {"1"}
    assert all(name in text and "penguin" not in text for text in found.collection.documents.values())
    assert "penguin" not in found.definitions[name]


def test_an_abstract_begins_at_its_title(tmp_path):
    sentences = [
        "Delayed toxicity of oldanka on the bladder .",
        "Oldanka was given to 12 mice .",
        "It was toxic ( 50 % ) .",
        "Levels of oldanka in the sea .",  # too near to the title before
        "Liver disease caused by quillop in rats .",
        "Rats were fed .",
    ]
    path = tmp_path / "set.tsv"
    path.write_text("\n\n".join("\n".join(f"{word}\tO" for word in own.split()) for own in sentences), "utf-8")
    found = read_abstracts([path])
    assert list(found.queries.values()) == [
        "Delayed toxicity of oldanka on the bladder.",
        "Liver disease caused by quillop in rats.",
    ]
    first, second = found.documents.values()
    assert first == "Oldanka was given to 12 mice. It was toxic (50%). Levels of oldanka in the sea."
    assert second == "Rats were fed."
    assert found.relevant == {key: {key} for key in found.queries}


def test_a_sentence_with_a_verb_is_no_title():
    assert _NO_TITLE.search("The symptoms ceased and were gone .")
    assert not _NO_TITLE.search("Cocaine - induced mood disorder : prevalence rates .")
    assert _as_text("cocaine - induced ( CIMD ) , 12 % .") == "cocaine-induced (CIMD), 12%."
