"""The question follows the use of the word; text in another language gets neighbours instead."""

import re
from collections import Counter

import numpy as np
import pytest
import transformers as hf
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from rarewords import LanguageModel, TeachSettings, teach
from rarewords.corpus.text import words_of
from rarewords.learner.known_words import KnownWords
from rarewords.teaching.ask import QUESTIONS, as_title, ask_about, is_english, show_words, use_of, with_article
from tests.architectures import real_text
from tests.cli.run import rarewords

GERMAN = """
Im Herbst reifen die Quitten im Garten hinter dem alten Haus.
Die Großmutter kocht aus den Quitten ein helles Gelee für den Winter.
Auf dem Markt kosten die Quitten in diesem Jahr mehr als die Äpfel.
Der Wind hat die reifen Quitten in der Nacht vom Baum geschüttelt.
Ein Korb voller Quitten steht seit gestern in der kühlen Küche.
Am Ufer des Flusses brütet der Eisvogel in einer Höhle aus Lehm.
Der Eisvogel taucht nach kleinen Fischen und sitzt lange still auf einem Ast.
Wer früh am Morgen am Bach wartet, sieht den Eisvogel über das Wasser fliegen.
Das blaue Gefieder macht den Eisvogel zu einem der schönsten Vögel des Landes.
Im harten Winter findet der Eisvogel kein offenes Wasser und zieht nach Süden.
Die Kinder fahren im Winter mit dem Schlitten den Hügel hinter der Schule hinunter.
Der alte Schlitten steht im Sommer auf dem Boden unter dem Dach.
Nach dem ersten Schnee holt der Vater den Schlitten aus dem Keller.
Zwei Pferde zogen den schweren Schlitten durch den verschneiten Wald.
Der Bauer lud das Holz auf den Schlitten und ging neben ihm her.
Die Schule liegt am Rand der Stadt, nicht weit vom Wald und vom Fluss.
Im Sommer baden die Kinder im Fluss und spielen auf der Wiese.
Der Fluss ist nach dem Regen so breit, dass niemand ihn überqueren kann.
"""
RARE = ["quitten", "eisvogel", "schlitten"]


def german_model():
    """A small BERT with a tokenizer of its own, made from the German sentences without the rare words."""
    lines = [re.sub("|".join(RARE), "", line.lower()) for line in GERMAN.splitlines()]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(lines * 20, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    fast = hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, mask_token="[MASK]", **names)
    config = hf.BertConfig(
        vocab_size=len(fast),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    return hf.BertForMaskedLM(config).eval(), fast


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    folder = tmp_path_factory.mktemp("german")
    model, tokenizer = german_model()
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    (folder / "text.txt").write_text(GERMAN, "utf-8")
    (folder / "words.txt").write_text("\n".join(RARE), "utf-8")
    (folder / "settings.toml").write_text("keep_all = true\n")
    return folder


@pytest.fixture(scope="module")
def sentences():
    """The sentences of a text by word."""
    found = {}
    for line in real_text()[:600_000].splitlines():
        for sentence in re.split(r"(?<=[.!?]) (?=[A-Z])", line):
            for word in set(words_of(sentence)):
                found.setdefault(word, []).append(sentence)
    return found


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("noun", "city planet engine bridge village mountain theory muscle protein disease railway poem"),
        ("plural", "rivers cities planets engines churches languages diseases birds proteins plants"),
        ("adjective", "medical industrial popular common famous successful difficult important expensive"),
        ("verb", "produce provide create reduce remove protect explain describe prevent obtain maintain"),
        ("name", "london england france germany india china japan william charles thomas napoleon canada"),
    ],
)
def test_the_use_of_known_words_is_seen_in_real_sentences(use, words, sentences):
    found = Counter(use_of(word, sentences[word][:8]) for word in words.split() if word in sentences)
    assert found.total() >= 9
    assert found[use] >= 0.8 * found.total(), found


def test_one_sentence_is_enough_where_it_is_clear():
    assert use_of("febrile", ["The child was febrile for two days."]) == "adjective"
    assert use_of("debride", ["The surgeon had to debride the wound."]) == "verb"
    assert use_of("grelling", ["A grelling landed on the leaf.", "The grelling flew away."]) == "noun"
    assert use_of("lens", ["A lens is made of glass."]) == "noun"
    assert use_of("Kumquats", ["He bought several kumquats."]) == "plural"
    assert use_of("deep vein thrombosis", ["A deep vein thrombosis of the leg is dangerous."]) == "noun"
    assert use_of("MRI", ["She had an MRI of the knee."], lower_case=False) == "noun"


def test_the_question_takes_the_article_of_the_word_and_suits_its_use(lm):
    assert with_article("A <W> treats _.", "aspirin") == "An <W> treats _."
    assert with_article("to <W> is to _.", "eat") == "to <W> is to _."
    assert as_title("a <W> is a kind of _.") == "a … is a kind of _"
    contexts = [["It is a very febrile child."], ["They have to remove it."]]
    shown = show_words(lm, ["febrile", "remove"], np.zeros((2, lm.dim), np.float32), contexts)
    assert [one.question for one in shown] == [QUESTIONS["adjective"], QUESTIONS["verb"]]
    assert {"delete", "remove", "destroy"} & set(shown[1].before)


def test_answers_point_nearer_to_an_embedding_once_it_is_read(lm):
    embedding = lm.embeddings[lm.whole_words["violin"]].numpy()[None]
    asked = lm, KnownWords.of(lm), ["torvane"], embedding
    (shown_before, before), (shown_after, after) = ask_about(*asked), ask_about(*asked, placement="append")
    assert float(after) > float(before) + 0.05
    assert "instrument" in shown_after[0]
    assert len(shown_before[0]) == 5


def test_german_is_not_taken_for_english():
    assert not is_english(GERMAN.splitlines())
    assert is_english(real_text()[:5000].splitlines())
    assert is_english(["The kumquat is a fruit of the citrus family."])


def test_german_text_is_taught_from_end_to_end_and_shows_neighbours(german, tmp_path):
    command = ("teach", german / "text.txt", "--words", german / "words.txt", "--model", german / "model")
    command += ("--settings", german / "settings.toml", "--out", tmp_path / "taught", "--workers", 1, "-q")
    shown = rarewords(*command).stdout
    assert "subwords; nearest known words" in shown
    assert "kind of" not in shown
    card = (tmp_path / "taught" / "README.md").read_text("utf-8")
    assert "is a kind of" not in card
    taught = LanguageModel.from_pretrained(tmp_path / "taught", device="cpu")
    for word in RARE:
        assert f"| {word} " in card
        assert f"ᐸ{word}ᐳ" in taught.tokenizer.get_vocab()


def test_german_neighbours_are_known_german_words(german):
    lm = LanguageModel.from_pretrained(german / "model", device="cpu")
    settings = TeachSettings(keep_all=True)
    result = teach(lm, texts=german / "text.txt", words=RARE, settings=settings)
    assert {one.word for one in result.words} == set(RARE)
    for one in result.words:
        assert one.question == ""
        assert list(one.before) == lm.tokens.subword_strings(lm.subwords(one.word))
        assert len(one.after) == 5
        assert set(one.after) <= set(lm.whole_words)


def test_an_own_question_is_asked_in_any_language(german):
    lm = LanguageModel.from_pretrained(german / "model", device="cpu")
    settings = TeachSettings(keep_all=True, question="<W> sind eine Art _ .")
    result = teach(lm, texts=german / "text.txt", words=RARE, settings=settings)
    assert {one.question for one in result.words} == {settings.question}
    assert all(len(one.before) == len(one.after) == 5 for one in result.words)
