"""What goes in: models of every type, texts of every type, and lists of words."""

import copy
import io

import pytest
import torch
import transformers as hf

from rarewords import Corpus, CorpusSettings, LanguageModel, TeachSettings
from rarewords._internal.cache import Cache
from rarewords.models import BUNDLED_NAME, load_pretrained
from rarewords.teaching.prepare import Request, open_model, prepare
from tests.architectures import sentence_transformer, small_model
from tests.errors import refused_with
from tests.teaching.invented import sentences_of

WORDS = ["torvane", "yurla"]
LINES = sentences_of(*WORDS, most=3).splitlines()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The folder of a small model."""
    folder = tmp_path_factory.mktemp("small") / "small"
    for part in small_model("bert"):
        part.save_pretrained(folder)
    return folder


@pytest.fixture
def prepared(small, tmp_path):
    """Prepare a teaching of the small model."""

    def done(model=small, **given):
        return prepare(Request(model=model, workers=1, device="cpu", **given), Cache(tmp_path / "work"))

    return done


# Models


def test_a_name_a_folder_and_loaded_models_are_the_same_model(small):
    model, tokenizer = load_pretrained(small)
    given = [small, str(small), LanguageModel(model, tokenizer), model]
    opened = [open_model(one, "cpu") for one in given]
    assert len({one.fingerprint for one in opened}) == 1
    assert {one.kind for one in opened} == {"masked"}


def test_a_loaded_model_is_copied(small):
    model, tokenizer = load_pretrained(small)
    before = copy.deepcopy(model.state_dict())
    for given in (model, LanguageModel(model, tokenizer)):
        ours = open_model(given, "cpu")
        ours.model.get_input_embeddings().weight.zero_()
        ours.tokenizer.add_tokens(["blimpet"])
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert "blimpet" not in tokenizer.get_vocab()


def test_a_sentence_transformer_is_an_encoder_with_the_name_it_was_loaded_by(tmp_path):
    from sentence_transformers import SentenceTransformer

    folder = sentence_transformer(tmp_path / "mine")
    opened = open_model(SentenceTransformer(str(folder), device="cpu"), "cpu")
    assert (opened.kind, opened.name, opened.pooling) == ("encoder", str(folder), "mean")
    assert opened.fingerprint == LanguageModel.from_pretrained(folder, device="cpu").fingerprint
    files = opened.folder
    assert (files / "modules.json").is_file()
    del opened
    assert not files.exists()


@pytest.mark.parametrize("model", [None, 3, ["default"], LanguageModel, torch.nn.Linear(2, 2)])
def test_what_is_no_model_is_refused_by_its_type(model):
    with refused_with("model-type") as refused:
        open_model(model, "cpu")
    assert type(model).__name__ in str(refused.value)


def test_a_pipeline_is_no_model(small):
    model, tokenizer = load_pretrained(small)
    with refused_with("model-type"):
        open_model(hf.pipeline("fill-mask", model=model, tokenizer=tokenizer), "cpu")


def test_a_model_that_was_loaded_from_nowhere_has_no_tokenizer():
    model, tokenizer = small_model("bert")
    with refused_with("model-type"):
        open_model(model, "cpu")
    assert open_model(LanguageModel(model, tokenizer), "cpu").kind == "masked"


def test_the_bundled_model_is_named_without_its_folder(prepared):
    found = prepared(model="default", glossary={"torvane": "an instrument"})
    assert found.base.name == "default"
    assert BUNDLED_NAME == "gte-mlm"


# Texts


def forms(folder):
    """The same sentences in every form that ``texts`` takes."""
    (folder / "text.txt").write_text("\n".join(LINES) + "\n", "utf-8")
    (folder / "texts").mkdir()
    (folder / "texts" / "own.md").write_text("\n".join(LINES) + "\n", "utf-8")
    yield LINES
    yield tuple(LINES)
    yield (line for line in LINES)
    yield ({"text": line, "id": number} for number, line in enumerate(LINES))
    yield "\n".join(LINES)
    yield folder / "text.txt"
    yield str(folder / "text.txt")
    yield [folder / "texts"]
    yield str(folder / "*.txt")
    yield [*LINES[:3], {"text": LINES[3]}, iter(LINES[4:]).__next__(), LINES[5]]
    yield Corpus.build(folder / "text.txt", folder / "corpus", CorpusSettings(words="any"), workers=1)
    yield folder / "corpus"


def test_texts_in_every_form_give_the_same_words_and_sentences(prepared, tmp_path):
    found = []
    for texts in forms(tmp_path):
        corpus = prepared(texts=texts, words=WORDS).corpus
        found.append({word: sorted(corpus.contexts(word)) for word in WORDS})
    assert len(found) == 12
    assert all(one == found[0] for one in found)
    assert {word: len(own) for word, own in found[0].items()} == {"torvane": 3, "yurla": 3}


def test_the_field_of_records_is_a_choice(prepared):
    texts = [{"text": "no word here", "body": line} for line in LINES]
    assert prepared(texts=texts, words=WORDS, field="body").corpus.count("torvane") == 3
    with refused_with("field"):
        prepared(texts=texts, words=WORDS, field="title")


def test_standard_input_is_read(prepared, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO("\n".join(LINES).encode()))
    monkeypatch.setattr("sys.stdin", stream)
    assert prepared(texts=["-"], words=WORDS).corpus.count("yurla") == 3


def test_an_empty_text_is_no_folder(prepared, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(LINES), "utf-8")
    assert prepared(texts=["", LINES[0]], words=WORDS).corpus.count("torvane") == 1


def test_a_corpus_that_treats_capitals_in_another_way_is_refused(prepared, tmp_path):
    settings = CorpusSettings(words="any", lower_case=False)
    cased = Corpus.build(LINES, tmp_path / "corpus", settings, workers=1)
    with refused_with("lower-case"):
        prepared(texts=cased, words=WORDS)


@pytest.mark.parametrize("given", [{}, {"texts": []}, {"texts": None, "words": ["torvane"]}])
def test_with_neither_text_nor_glossary_there_is_nothing_to_learn_from(given, prepared):
    with refused_with("no-input"):
        prepared(**given)


# Words


def test_without_a_list_the_terms_of_the_glossary_are_taught(prepared):
    glossary = {"Torvane": "an instrument", "yurla": "a drink", "jorrin": " "}
    found = prepared(glossary=glossary, texts=LINES)
    assert list(found.chosen) == ["torvane", "yurla"]
    assert list(found.skipped) == ["jorrin"]
    assert list(prepared(glossary=glossary, words=["yurla"]).chosen) == ["yurla"]


def test_one_word_may_be_given_as_it_is(prepared):
    assert list(prepared(texts=LINES, words="torvane").chosen) == ["torvane"]


def test_an_empty_list_of_words_is_refused(prepared):
    with refused_with("no-input"):
        prepared(texts=LINES, words=[])


def test_a_list_of_words_decides_what_a_word_is(prepared):
    assert prepared(texts=LINES, words=WORDS).settings.rule == "any"
    assert prepared(texts=LINES, settings=TeachSettings(min_count=3)).settings.rule == "english"
    assert prepared(texts=LINES, words=WORDS, settings=TeachSettings(rule="english")).settings.rule == "english"


def test_a_text_without_a_word_worth_teaching_is_refused(prepared):
    with refused_with("nothing-to-teach"):
        prepared(texts=LINES, settings=TeachSettings(min_count=100))


def test_an_encoder_is_taught_listed_words_only(prepared, tmp_path):
    encoder = sentence_transformer(tmp_path / "encoder")
    with refused_with("model-kind"):
        prepared(model=encoder, texts=LINES)
    assert list(prepared(model=encoder, texts=LINES, words=WORDS).chosen) == WORDS
