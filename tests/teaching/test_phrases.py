"""Phrases and codes are words: found in the text, taught with one token each, matched whole."""

from pathlib import Path

import pytest

from rarewords import Corpus, CorpusSettings, LanguageModel, TeachSettings, WordEmbeddings, forget, inject, scan, teach
from rarewords.injection.forget import taught_words
from rarewords.injection.vocabulary import added_words
from rarewords.learner.masked import find_word
from rarewords.teaching.forms import phrase_contexts
from rarewords.teaching.prepare import on_one_line
from rarewords.teaching.words import NOT_IN_TEXT
from tests.architectures import small_model
from tests.cli.run import rarewords
from tests.errors import refused_with

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
    corpus = Corpus.build(text, tmp_path / "corpus", CorpusSettings(words="any"), workers=1)
    found = {phrase: phrase_contexts(corpus, phrase) for phrase in ("deep vein thrombosis", "c++", "node.js")}
    assert {phrase: len(spans) for phrase, spans in found.items()} == {
        "deep vein thrombosis": 4,
        "c++": 2,
        "node.js": 2,
    }
    for phrase, spans in found.items():
        for sentence, start, end in spans:
            assert "".join(sentence[start:end].lower().split()) == "".join(phrase.split())
    assert phrase_contexts(corpus, "vein of the leg") == []  # its words are there, the phrase is not
    assert phrase_contexts(corpus, "habeas corpus") == []
    assert phrase_contexts(corpus, "++") == []


def test_a_phrase_is_matched_whole_and_across_any_white_space():
    assert find_word("vein thrombosis", "deep vein\n thrombosis", lower_case=True) == (5, 21)
    assert find_word("c++", "in C++11", lower_case=True) is None
    assert find_word("node.js", "anode.js", lower_case=True) is None


def test_a_scan_finds_fixed_phrases_of_rare_words(lm, tmp_path):
    text = tmp_path / "text.txt"
    others = list(zip(NAMES, DAYS, VERBS, strict=True))
    fixed = [f"The {name} had a deep vein thrombosis last {day}." for name, day, _ in others]
    loose = [f"A thrombosis may {verb} the {name} on {day}." for name, day, verb in others]
    near = [f"Shortness of breath {verb} him, deep water, vein." for verb in VERBS]
    text.write_text("\n".join([*fixed, *loose, *near]), "utf-8")
    settings = TeachSettings(keep_all=True)
    lines = text.read_text("utf-8").splitlines()
    assert scan(lines, LanguageModel(*small_model("bert")), settings=settings).phrases == {}
    found = scan((line for line in lines), lm, phrases=True, settings=settings).phrases
    assert found == {"deep vein thrombosis": 5, "shortness of breath": 5}
    words = tmp_path / "words.txt"
    command = ("-q", "scan", text, "--phrases", "--set", "keep_all=true", "--workers", 1, "--out", words)
    shown = rarewords(*command).stdout
    assert "Fixed phrases: deep vein thrombosis (5), shortness of breath (5)\n" in shown
    assert "shortness of breath\t5\n" in words.read_text("utf-8")


def test_phrases_and_codes_are_taught(text, lm):
    words = [*PHRASES, "habeas corpus"]
    result = teach(lm, texts=text, words=words, settings=TeachSettings(keep_all=True))
    assert {one.word: one.count for one in result.words} == {"deep vein thrombosis": 4, "c++": 2, "node.js": 2}
    assert result.skipped == {"habeas corpus": NOT_IN_TEXT}
    ids = result.tokenizer("Is it a Deep vein thrombosis? C++!").input_ids
    assert sum(token >= 30522 for token in ids) == 2


def test_a_phrase_broken_over_two_lines_is_found(tmp_path):
    lm = LanguageModel(*small_model("bert"))
    lines = ["He had a deep\r\n  vein thrombosis of the leg.", "It was a Deep vein\nthrombosis after surgery."]
    text = tmp_path / "text.txt"
    text.write_text("\n".join([*lines, "A well runs deep", "", "vein thrombosis is written apart here."]))
    with refused_with("nothing-to-teach"):
        teach(lm, texts=text, words=["apart vein thrombosis"])
    result = teach(lm, texts=text, words=["deep vein thrombosis"], settings=TeachSettings(keep_all=True))
    assert [(one.word, one.count) for one in result.words] == [("deep vein thrombosis", 2)]
    whole = on_one_line([str(text)], ["deep vein thrombosis"], "text", tmp_path / "lines")
    assert Path(whole[0]).read_text("utf-8").splitlines()[0] == "He had a deep vein thrombosis of the leg."
    assert on_one_line([str(text)], ["nothing here"], "text", tmp_path / "more") == [str(text)]


@pytest.mark.parametrize("architecture", ["bert", "roberta", "albert"])
@pytest.mark.parametrize("placement", ["append", "replace"])
def test_a_phrase_gets_one_token_in_every_family_of_tokenizers(architecture, placement):
    model, tokenizer = small_model(architecture)
    phrases = ["deep vein thrombosis", "vein thrombosis", "habeas corpus", "c++", "node.js"]
    dim = model.get_input_embeddings().weight.shape[1]
    embeddings = WordEmbeddings(phrases, [[float(row)] * dim for row in range(len(phrases))])
    before = tokenizer("a node of deep water; vitamin c , corpus").input_ids
    size = len(tokenizer)
    inject(model, tokenizer, embeddings, placement=placement)
    assert tokenizer("a node of deep water; vitamin c , corpus").input_ids == before
    word_of = {token: word for word, ids in added_words(tokenizer, size).items() for token in ids}

    def seen(sentence):
        return [word_of[token] for token in tokenizer(sentence).input_ids if token in word_of]

    for phrase in phrases:
        assert seen(f"we saw ({phrase}), again.") == [phrase]
    sentence = "the deep vein thrombosis and the vein thrombosis"
    assert seen(sentence) == ["deep vein thrombosis", "vein thrombosis"]
    assert seen("habeas corpuses, node.jsx") == []
    assert seen("habeas  corpus and habeas\ncorpus") == ["habeas corpus"] * 2


def test_a_cased_model_knows_the_word_at_the_start_of_a_sentence(text, tmp_path):
    model, tokenizer = small_model("roberta")
    words = ["thrombosis", "C++"]
    settings = TeachSettings(keep_all=True)
    result = teach(LanguageModel(model, tokenizer), texts=text, words=words, settings=settings)
    assert {one.word for one in result.words} == set(words)
    taught = result.language_model
    new = [
        [token for token in taught.tokenizer(sentence).input_ids if token >= len(tokenizer)]
        for sentence in ("a thrombosis of", "Thrombosis is", "THROMBOSIS", "C++ and C++")
    ]
    assert [len(own) for own in new] == [1, 1, 0, 2]
    small, capital = taught.embeddings[[new[0][0], new[1][0]]]
    assert new[0] != new[1]
    assert small.tolist() == capital.tolist()
    result.save_pretrained(tmp_path / "out")
    assert [one.word for one in taught_words(tmp_path / "out")] == words
    assert forget(tmp_path / "out", ["thrombosis"], tmp_path / "fewer") == ["C++"]
    fewer = LanguageModel.from_pretrained(tmp_path / "fewer", device="cpu").tokenizer
    assert max(fewer("Thrombosis is a thrombosis").input_ids) < len(tokenizer)


def test_a_capital_that_was_taught_before_keeps_its_token(tmp_path):
    texts = ["A Thrombosis hurts.", "His Thrombosis grew.", "A thrombosis hurts.", "His thrombosis grew."]
    given = {"texts": texts, "settings": TeachSettings(keep_all=True)}
    one = teach(LanguageModel(*small_model("roberta")), words=["Thrombosis"], **given)
    two = teach(one.language_model, words=["thrombosis"], **given)
    two.save_pretrained(tmp_path / "two")
    assert [word.word for word in taught_words(tmp_path / "two")] == ["Thrombosis", "thrombosis"]
    assert two.language_model.subwords("Thrombosis") == one.language_model.subwords("Thrombosis")
