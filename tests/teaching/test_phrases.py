"""Phrases and codes are words: found in the text, taught with one token each, matched whole."""

from pathlib import Path

import pytest
from transformers import AutoTokenizer

from rarewords.corpus.build import build
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.store import Store
from rarewords.errors import InputError
from rarewords.forget import forget, taught_words
from rarewords.injection import inject
from rarewords.lm import LanguageModel
from rarewords.mimic.masked import find_word
from rarewords.teaching.phrases import on_one_line, phrase_contexts
from rarewords.teaching.scan import scan
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.teach import teach
from rarewords.vectors import WordVectors
from tests.architectures import small_model
from tests.cli.run import rarewords

TEXT = """
A deep vein thrombosis of the leg may follow a long flight without any movement.
The patient had a deep  vein thrombosis and received heparin in the hospital.
Swelling of the calf is a sign of Deep Vein Thrombosis after an operation.
A thrombosis of a portal vein is another disease of the liver.
The surgeon feared a deep-vein thrombosis, and the nurse saw deep\u00a0vein\u00a0thrombosis again.
The server was written in C++ by two students in one summer.
She prefers C++ to other languages because programs written in it are fast.
Vitamin C is found in oranges and in other fresh fruit.
A page written with Node.js runs the same language as the browser.
Every node of the network sends a message to the next one.
They moved the old server to Node.js in the spring and were content.
"""
NAMES, DAYS = ["man", "woman", "boy", "girl", "nurse"], ["monday", "tuesday", "friday", "sunday", "year"]
VERBS = ["follow", "trouble", "stop", "reach", "hurt"]
PHRASES = ["deep vein  thrombosis", "C++", "Node.js"]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("phrases") / "text.txt"
    path.write_text(TEXT, "utf-8")
    return path


def test_a_phrase_is_found_in_the_contexts_of_its_rarest_word(text, tmp_path):
    build([str(text)], tmp_path / "store", CorpusSettings(words="any"), workers=1)
    store = Store.open(tmp_path / "store")
    found = {phrase: phrase_contexts(store, phrase) for phrase in ("deep vein thrombosis", "c++", "node.js")}
    assert {phrase: len(spans) for phrase, spans in found.items()} == {
        "deep vein thrombosis": 4,
        "c++": 2,
        "node.js": 2,
    }
    for phrase, spans in found.items():
        for sentence, start, end in spans:
            assert "".join(sentence[start:end].lower().split()) == "".join(phrase.split())
    assert phrase_contexts(store, "vein of the leg") == []  # its words are there, the phrase is not
    assert phrase_contexts(store, "habeas corpus") == []
    assert phrase_contexts(store, "++") == []


def test_a_phrase_is_matched_whole_and_across_any_white_space():
    assert find_word("vein thrombosis", "deep vein\n thrombosis", lower_case=True) == (5, 21)
    assert find_word("c++", "in C++11", lower_case=True) is None
    assert find_word("node.js", "anode.js", lower_case=True) is None


def test_a_scan_finds_fixed_phrases_of_rare_words(tmp_path):
    text = tmp_path / "text.txt"
    others = list(zip(NAMES, DAYS, VERBS, strict=True))
    fixed = [f"The {name} had a deep vein thrombosis last {day}." for name, day, _ in others]
    loose = [f"A thrombosis may {verb} the {name} on {day}." for name, day, verb in others]
    near = [f"Shortness of breath {verb} him, deep water, vein." for verb in VERBS]
    text.write_text("\n".join([*fixed, *loose, *near]), "utf-8")
    assert scan([text], workers=1).phrases == {}
    found = scan([text], phrases=True, workers=1).phrases
    assert found == {"deep vein thrombosis": 5, "shortness of breath": 5}
    words = tmp_path / "words.txt"
    shown = rarewords("-q", "scan", text, "--phrases", "--ask", 0, "--workers", 1, "--out", words).stdout
    assert "Fixed phrases: deep vein thrombosis (5), shortness of breath (5)\n" in shown
    assert "shortness of breath\t5\n" in words.read_text("utf-8")


def test_phrases_and_codes_are_taught(text, lm, tmp_path):
    settings = TeachSettings(keep_all=True)
    words = [*PHRASES, "habeas corpus"]
    report = teach([text], tmp_path / "out", words=words, model=lm, settings=settings, workers=1)
    assert {one.word: one.count for one in report.words} == {
        "deep vein thrombosis": 4,
        "c++": 2,
        "node.js": 2,
    }
    assert report.refused == {"habeas corpus": "the text does not contain it as a word"}
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    new = [token for token in tokenizer("Is it a Deep vein thrombosis? C++!").input_ids if token >= 30522]
    assert len(new) == 2


def test_a_phrase_broken_over_two_lines_is_found(lm, tmp_path):
    lines = [
        "He had a deep\r\n  vein thrombosis of the leg.",
        "It was a Deep vein\nthrombosis after surgery.",
    ]
    text = tmp_path / "text.txt"
    text.write_text("\n".join([*lines, "A well runs deep", "", "vein thrombosis is written apart here."]))
    with pytest.raises(InputError, match="does not contain it"):
        teach([text], tmp_path / "none", words=["apart vein thrombosis"], model=lm, workers=1)
    settings = TeachSettings(keep_all=True)
    report = teach([text], tmp_path / "out", words=["deep vein thrombosis"], model=lm, settings=settings)
    assert [(one.word, one.count) for one in report.words] == [("deep vein thrombosis", 2)]
    whole = on_one_line([str(text)], ["deep vein thrombosis"], "text", tmp_path / "lines")
    assert Path(whole[0]).read_text("utf-8").splitlines()[0] == "He had a deep vein thrombosis of the leg."
    assert on_one_line([str(text)], ["nothing here"], "text", tmp_path / "more") == [str(text)]


@pytest.mark.parametrize("architecture", ["bert", "roberta", "albert"])
@pytest.mark.parametrize("slash", [True, False])
def test_a_phrase_gets_one_token_in_every_family_of_tokenizers(architecture, slash):
    model, tokenizer = small_model(architecture)
    phrases = ["deep vein thrombosis", "vein thrombosis", "habeas corpus", "c++", "node.js"]
    dim = model.get_input_embeddings().weight.shape[1]
    vectors = WordVectors(phrases, [[float(row)] * dim for row in range(len(phrases))])
    before = tokenizer("a node of deep water; vitamin c , corpus").input_ids
    ids = inject(model, tokenizer, vectors, slash=slash).ids
    assert tokenizer("a node of deep water; vitamin c , corpus").input_ids == before
    new = set(ids.values())

    def seen(sentence):
        return [token for token in tokenizer(sentence).input_ids if token in new]

    for phrase in phrases:
        assert seen(f"we saw ({phrase}), again.") == [ids[phrase]]
    assert seen("the deep vein thrombosis and the vein thrombosis") == [
        ids["deep vein thrombosis"],
        ids["vein thrombosis"],
    ]
    assert seen("habeas corpuses, node.jsx") == []
    if slash:  # an added token cannot match any white space; the rules can
        assert seen("habeas  corpus and habeas\ncorpus") == [ids["habeas corpus"]] * 2


def test_a_cased_model_knows_the_word_at_the_start_of_a_sentence(text, tmp_path):
    model, tokenizer = small_model("roberta")
    model.save_pretrained(tmp_path / "cased")
    tokenizer.save_pretrained(tmp_path / "cased")
    settings = TeachSettings(keep_all=True)
    words = ["thrombosis", "C++"]
    report = teach(
        [text], tmp_path / "out", words=words, model=tmp_path / "cased", settings=settings, workers=1
    )
    assert {one.word for one in report.words} == set(words)
    taught = LanguageModel.from_pretrained(tmp_path / "out")
    new = [
        [token for token in taught.tokenizer(sentence).input_ids if token >= len(tokenizer)]
        for sentence in ("a thrombosis of", "Thrombosis is", "THROMBOSIS", "C++ and C++")
    ]
    assert [len(own) for own in new] == [1, 1, 0, 2]
    small, capital = taught.embeddings[[new[0][0], new[1][0]]]
    assert new[0] != new[1]
    assert small.tolist() == capital.tolist()
    assert [one.word for one in taught_words(tmp_path / "out")] == words
    assert forget(tmp_path / "out", ["thrombosis"], tmp_path / "fewer") == ["C++"]
    fewer = LanguageModel.from_pretrained(tmp_path / "fewer").tokenizer
    assert max(fewer("Thrombosis is a thrombosis").input_ids) < len(tokenizer)


def test_a_capital_that_was_taught_before_keeps_its_token(text, tmp_path):
    for part in small_model("roberta"):
        part.save_pretrained(tmp_path / "cased")
    text = tmp_path / "text.txt"
    text.write_text("A Thrombosis hurts.\nHis Thrombosis grew.\nA thrombosis hurts.\nHis thrombosis grew.\n")
    given = {"settings": TeachSettings(keep_all=True), "workers": 1}
    teach([text], tmp_path / "one", words=["Thrombosis"], model=tmp_path / "cased", **given)
    teach([text], tmp_path / "two", words=["thrombosis"], model=tmp_path / "one", **given)
    assert [one.word for one in taught_words(tmp_path / "two")] == ["Thrombosis", "thrombosis"]
    one, two = (LanguageModel.from_pretrained(tmp_path / name) for name in ("one", "two"))
    assert two.pieces("Thrombosis") == one.pieces("Thrombosis")
