"""Teaching sentence-embedding models and causal LMs: the folders, the promises and the check."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

from rarewords import LanguageModel, TeachSettings, WordEmbeddings, WordLearner, inject, teach
from rarewords.corpus.corpus import Context
from rarewords.injection.taught import taught_tokens
from rarewords.injection.vocabulary import added_words
from rarewords.learner.transfer import TransferLearner
from rarewords.models import load_pretrained, model_kind
from rarewords.queries import InputRow
from rarewords.teaching.ask import ask, sentence_embeddings
from rarewords.teaching.check import Candidate
from rarewords.teaching.holdout import Fold, HoldOut
from rarewords.teaching.transfer_check import CausalCheck, EncoderCheck, HeldOut, _result, scores_of_what_follows
from tests.architectures import CAUSAL, real_text, sentence_transformer, small_causal, small_model
from tests.cli.run import rarewords, refused
from tests.errors import refused_with
from tests.teaching.invented import occurrences_of, sentences_of

WORDS = ["blimpet", "oldanka"]
CONTEXTS = 6
PLACEMENTS = ["append", "replace"]
PLAIN = "The ship sailed out of the harbour at dawn."
KEEP_ALL = TeachSettings(keep_all=True)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "invented.txt"
    path.write_text(sentences_of(*WORDS, most=CONTEXTS), "utf-8")
    return path


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return sentence_transformer(tmp_path_factory.mktemp("encoder") / "model")


@pytest.fixture(scope="module")
def taught_encoder(encoder, text, tmp_path_factory):
    """The result of teaching the encoder, and its folder."""
    result = teach(encoder, texts=text, words=WORDS, settings=KEEP_ALL, device="cpu")
    folder = tmp_path_factory.mktemp("taught") / "model"
    result.save_pretrained(folder)
    return result, folder


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    folder = tmp_path_factory.mktemp("causal") / "model"
    for part in small_causal("llama"):
        part.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def taught_causal(causal, text, tmp_path_factory):
    settings = TeachSettings(keep_all=True, placement="replace")
    result = teach(causal, texts=text, words=WORDS, settings=settings, device="cpu")
    folder = tmp_path_factory.mktemp("taught") / "model"
    result.save_pretrained(folder)
    return result, folder


def loaded(folder):
    return LanguageModel.from_pretrained(folder, device="cpu")


def test_the_kind_of_a_model_is_seen_from_its_folder(encoder, causal, tmp_path):
    assert [model_kind(name) for name in ("default", encoder, causal)] == ["masked", "encoder", "causal"]
    AutoModel.from_pretrained(encoder).save_pretrained(tmp_path / "bare")
    assert model_kind(tmp_path / "bare") == "encoder"
    (tmp_path / "bare" / "modules.json").write_text("{}", "utf-8")
    with refused_with("model-folder"):
        load_pretrained(tmp_path / "bare")


def test_a_causal_lm_continues_a_sentence_up_to_its_blank(causal):
    said = [rarewords("ask", "--model", causal, text, "--json").stdout for text in ("the ship", "the ship _ .")]
    first, second = (json.loads(text)[0]["answers"] for text in said)
    assert first == second != []


def test_an_encoder_is_taught_listed_words_only(encoder, text, tmp_path):
    for more in ((), ("--dry-run",)):
        refused("model-kind", "-q", "teach", text, "--model", encoder, "--out", tmp_path / "taught", *more)
    refused("model-kind", "-q", "scan", text, "--model", encoder)
    assert list(tmp_path.iterdir()) == []


def test_a_taught_encoder_keeps_its_modules(encoder, taught_encoder):
    _, folder = taught_encoder
    files = {path.relative_to(encoder) for path in encoder.rglob("*")}
    new = {path.relative_to(folder) for path in folder.rglob("*")}
    assert new - files == {path for path in new if path.name in ("README.md", "teaching.json")}
    assert files <= new
    for name in ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json"):
        assert (folder / name).read_bytes() == (encoder / name).read_bytes()


def test_a_taught_encoder_embeds_other_text_as_before_to_the_last_bit(encoder, taught_encoder):
    states = []
    for folder in (encoder, taught_encoder[1]):
        tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
        with torch.no_grad():
            states.append(model(**tokenizer(PLAIN, return_tensors="pt")).last_hidden_state)
    assert torch.equal(*states)


def test_the_reader_model_may_treat_capitals_in_another_way(encoder, causal, tmp_path):
    for architecture in ("bert", "roberta"):
        for part in small_model(architecture):
            part.save_pretrained(tmp_path / architecture)
    (tmp_path / "text.txt").write_text(f"{real_text()[:200_000]}\nBlimpet is sour.\nA ripe blimpet fell.\n")
    given = {"texts": tmp_path / "text.txt", "words": ["blimpet"], "settings": KEEP_ALL, "device": "cpu"}
    for model, reader_model in ((encoder, "roberta"), (causal, "bert")):
        result = teach(model, reader_model=tmp_path / reader_model, **given)
        assert [one.word for one in result.taught] == ["blimpet"]
        assert result.learner.startswith("no fitted learner: the text has 0 known words to fit one on")


def test_a_reader_model_must_be_a_masked_lm(encoder, causal, text):
    with refused_with("model-kind"):
        teach(causal, texts=text, words=WORDS, reader_model=encoder, device="cpu")


def test_a_taught_encoder_puts_words_near_their_kind(encoder, taught_encoder):
    kinds = ["fruit", "boat", "law", "music"]
    near = []
    for lm in (loaded(encoder), taught_encoder[0].language_model):
        readings = [InputRow(tuple(lm.tokenizer(word)["input_ids"])) for word in [*WORDS, *kinds]]
        embedded = sentence_embeddings(lm, readings)
        near.append((embedded[:2] @ embedded[2:].T).argmax(dim=1).tolist())
    assert near[1] == [0, 1] != near[0]


@pytest.mark.parametrize("placement", ["replace", "append"])
def test_an_encoder_reads_checked_words_in_the_placement_that_was_asked_for(encoder, taught_encoder, text, placement):
    result = taught_encoder[0]
    if result.settings.placement != placement:  # the other one is what an encoder gets without asking
        settings = TeachSettings(keep_all=True, placement=placement)
        result = teach(encoder, texts=text, words=WORDS, settings=settings, device="cpu")
    tokens = result.tokenizer.tokenize(WORDS[0])
    assert (tokens == [WORDS[0]]) == (placement == "replace")
    assert (len(tokens) > 2) == (placement == "append")


def test_sentence_transformers_loads_the_folder(encoder, taught_encoder):
    # Imported here: it takes seconds, which the other tests need not spend.
    from sentence_transformers import SentenceTransformer

    old, new = (SentenceTransformer(str(one)) for one in (encoder, taught_encoder[1]))
    assert np.array_equal(old.encode(PLAIN), new.encode(PLAIN))
    assert not np.array_equal(old.encode("a blimpet"), new.encode("a blimpet"))


@pytest.mark.parametrize("mode", ["mean", "cls"])
def test_sentence_embeddings_are_those_of_sentence_transformers(mode, tmp_path):
    from sentence_transformers import SentenceTransformer

    folder = sentence_transformer(tmp_path / mode)
    pooling = {"word_embedding_dimension": 384, f"pooling_mode_{_POOLING[mode]}": True}
    pooling.setdefault("pooling_mode_mean_tokens", False)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), "utf-8")
    lm = loaded(folder)
    assert lm.pooling == mode
    found = sentence_embeddings(lm, [InputRow(tuple(lm.tokenizer(PLAIN)["input_ids"]))])
    expected = SentenceTransformer(str(folder), device="cpu").encode(PLAIN)
    np.testing.assert_allclose(found[0].numpy(), expected, atol=1e-5)


_POOLING = {"mean": "mean_tokens", "cls": "cls_token"}


def test_the_report_says_what_was_measured(taught_encoder, taught_causal):
    encoder, causal = taught_encoder[0], taught_causal[0]
    assert (encoder.as_json()["kind"], causal.as_json()["kind"]) == ("encoder", "causal")
    assert encoder.measure.endswith("in cosines")
    assert causal.measure == "the mean log-probability of the tokens that follow the word"
    assert 'SentenceTransformer("THIS_FOLDER")' in encoder.card()
    assert "answers to the question" not in encoder.card()  # it was asked none
    assert "AutoModelForCausalLM" in causal.card()


def test_affected_names_the_documents_with_a_taught_word(taught_encoder, tmp_path):
    _, folder = taught_encoder
    (tmp_path / "a.txt").write_text(f"{PLAIN}\nTwo Blimpet and an oldanka.\nblimpets\n", "utf-8")
    records = [{"name": "x1", "body": "An\noldanka"}, {"name": "x2", "body": PLAIN}]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")
    done = rarewords("affected", "--model", folder, tmp_path / "a.txt")
    assert done.stdout == f"{tmp_path / 'a.txt'}:2\tblimpet, oldanka\n{tmp_path / 'a.txt'}:3\tblimpet\n"
    options = ("--field", "body", "--id", "name")
    done = rarewords("affected", "--model", folder, tmp_path / "b.jsonl", *options)
    assert done.stdout == "x1\toldanka\n"
    refused("word", "affected", "--model", tmp_path, tmp_path / "a.txt")


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("architecture", CAUSAL)
def test_a_causal_lm_reads_a_new_word_and_does_not_say_it(architecture, tied, tmp_path):
    old, tokenizer = small_causal(architecture, tied=tied)
    model, size = small_causal(architecture, tied=tied)[0], len(tokenizer)
    matrix = np.random.default_rng(0).normal(size=(2, 32)).astype(np.float32)
    inject(model, tokenizer, WordEmbeddings(WORDS, matrix))
    entries = added_words(tokenizer, size)
    new_ids = [token for ids in entries.values() for token in ids]
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path)
    new, tokenizer = AutoModelForCausalLM.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    text = tokenizer(PLAIN, return_tensors="pt")
    with torch.no_grad():
        assert torch.equal(new(**text).logits[..., :size], old(**text).logits)
        if not tied:
            assert new(**text).logits.softmax(dim=-1)[..., size:].max() < 1e-3
    assert tokenizer("a blimpet.")["input_ids"][1] == entries["blimpet"][0]
    each = 1 if architecture == "qwen2" else 2  # entries: behind a space, and elsewhere
    assert np.allclose(new.get_input_embeddings().weight[new_ids].detach(), matrix.repeat(each, axis=0))
    assert new.generation_config.suppress_tokens == new_ids
    with torch.no_grad():  # however probable the words are
        new.get_output_embeddings().weight[size:] *= 100
    said = new.generate(**text, max_new_tokens=8, do_sample=True, eos_token_id=None)
    assert not set(said[0].tolist()) & set(new_ids)


def test_a_causal_lm_may_say_the_words_if_asked():
    model, tokenizer = small_causal("llama")
    inject(model, tokenizer, WordEmbeddings(["blimpet"], np.ones((1, 32), np.float32)), allow_prediction=True)
    assert model.generation_config.suppress_tokens is None


def test_a_causal_lm_is_taught_whole(taught_causal, causal, lm):
    result, folder = taught_causal
    assert [one.word for one in result.words] == WORDS
    assert all(one.check.contexts > 1 for one in result.words)
    new, old = loaded(folder), loaded(causal)
    assert len(new.subwords("blimpet")) == 1
    target = TransferLearner.fit(WordLearner(lm), old).target
    row = new.embeddings[new.subwords("blimpet")[0]]
    assert float((row - target.mean).norm()) == pytest.approx(target.spread, rel=1e-4)


def test_the_continuation_that_is_shown_is_what_the_model_generates(taught_causal):
    result, folder = taught_causal
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    text = tokenizer("A blimpet is a", return_tensors="pt")
    said = model.generate(**text, max_new_tokens=6, do_sample=False, suppress_tokens=None, eos_token_id=None)
    continued = tokenizer.decode(said[0, text.input_ids.shape[1] :], skip_special_tokens=True).strip()
    (one,) = [word for word in result.words if word.word == "blimpet"]
    assert one.after == (continued,)


def test_asking_a_taught_model_gives_what_the_report_shows(taught_causal, taught_encoder):
    for result, folder in (taught_causal, taught_encoder):
        lm = loaded(folder)
        for one in result.words:
            prompt = f"A {one.word} is a _." if lm.kind == "causal" else one.word
            (answers,) = ask(lm, [prompt], 5)
            assert tuple(next(iter(answer.values())) for answer in answers) == one.after
            assert one.before != one.after


def test_a_causal_lm_is_taught_a_word_that_occurs_once(causal):
    result = teach(causal, texts=[sentences_of("blimpet", most=1)], words=["blimpet"], device="cpu")
    assert result.verdicts == {"not checked": 1}
    assert [one.word for one in result.taught] == ["blimpet"]


def test_the_log_probability_of_what_follows_is_that_of_the_model(causal):
    lm = loaded(causal)
    ids = lm.tokenizer(PLAIN)["input_ids"]
    ((found,),) = scores_of_what_follows(lm, [HeldOut(0, (InputRow(tuple(ids)),), following=3)])
    with torch.no_grad():
        scores = lm.model(torch.tensor([ids])).logits[0].log_softmax(dim=-1)
    wanted = np.mean([float(scores[at - 1, ids[at]]) for at in range(len(ids) - 3, len(ids))])
    assert found == pytest.approx(wanted, abs=1e-5)


def candidate(word, embedding, held_out=None):
    held_out = held_out or occurrences_of(word)
    return Candidate(HoldOut(word, len(held_out), (), (Fold((), held_out),)), embedding, embedding[None], 1.0, 1)


def test_the_check_prefers_the_true_meaning(encoder, lm):
    target = loaded(encoder)
    meanings = {"blimpet": "lemon", "oldanka": "boat", "thassel": "parliament"}
    candidates = [
        candidate(word, target.embeddings[target.whole_words[meaning]].numpy()) for word, meaning in meanings.items()
    ]
    checked = EncoderCheck(target, lm, "replace").run(candidates)
    assert [one.gain > 0 for one in checked] == [True, True, False]
    assert checked[1].verdict == "better"
    assert checked[2].verdict != "better"


def test_marks_of_patterns_in_the_text_itself_do_no_harm(encoder, lm):
    target = loaded(encoder)
    embedding = target.embeddings[target.whole_words["lemon"]].numpy()
    marked = ["The mark <W> stands before a ripe blimpet _ on the tree.", "The [MASK] of a ripe blimpet is sour."]
    held_out = tuple(Context(line, line.index("blimpet"), line.index("blimpet") + 7) for line in marked)
    given = candidate("blimpet", embedding, (*occurrences_of("blimpet", 3), *held_out))
    (found,) = EncoderCheck(target, lm, "replace").run([given])
    assert found.contexts == 4  # a reader model cannot be asked about the last


def test_only_a_gain_that_is_below_zero_for_sure_is_too_small(encoder, lm):
    target = loaded(encoder)
    boat, parliament = (target.embeddings[target.whole_words[word]].numpy() for word in ("boat", "parliament"))
    good, bad = EncoderCheck(target, lm, "replace").run([candidate("oldanka", boat), candidate("oldanka", parliament)])
    for one in (good, bad):
        assert one.threshold == pytest.approx(-2 * np.hypot(one.error, 0.1 / one.contexts), abs=2e-6)
    assert good.gain > max(0, bad.gain)
    surely_worse = replace(bad, embedding=bad.subwords + 1.1 * bad.threshold)
    assert (good.verdict, surely_worse.verdict) == ("better", "worse")


def test_two_sentences_that_agree_do_not_skip_a_word():
    agree = np.array([[0.20, 0.17], [0.20, 0.1699]])
    few, many = (_result(np.repeat(agree, times, axis=0), 0.1, found=False) for times in (1, 16))
    assert (few.verdict, many.verdict) == ("unclear", "worse")


def test_asking_a_causal_lm_does_not_write_new_words(causal, tmp_path):
    lm = loaded(causal)
    prompt = lm.tokenizer("A sailor is a")["input_ids"]
    with torch.no_grad():
        wanted = lm.model(torch.tensor([prompt])).logits[0, -1]
    (first,) = lm.tokenizer.convert_ids_to_tokens([int(wanted.argmax())])
    lm.model.generation_config.suppress_tokens = [int(wanted.argmax())]
    lm.model.save_pretrained(tmp_path / "less")
    lm.tokenizer.save_pretrained(tmp_path / "less")
    old, new = (
        ask(one, ["A sailor is a"], 1)[0][0]["continuation"] for one in (loaded(causal), loaded(tmp_path / "less"))
    )
    assert old != new, first


def test_a_causal_lm_needs_a_sure_gain_for_words_that_a_search_found(causal):
    target = loaded(causal)
    given = [candidate("blimpet", np.random.default_rng(0).normal(size=32).astype(np.float32))]
    (listed,), (found,) = (CausalCheck(target, "replace", one).run(given) for one in (False, True))
    assert listed.threshold < 0 < found.threshold
    assert found.threshold == pytest.approx(2 * found.error, abs=2e-6)


def test_a_causal_lm_is_checked_in_the_placement_that_was_asked_for(causal):
    target = loaded(causal)
    given = [candidate("blimpet", np.random.default_rng(0).normal(size=32).astype(np.float32))]
    (appended,), (replaced,) = (CausalCheck(target, placement, found=False).run(given) for placement in PLACEMENTS)
    assert appended.subwords == pytest.approx(replaced.subwords, abs=1e-5)
    assert appended.embedding != pytest.approx(replaced.embedding, abs=1e-5)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_causal_lm_reads_words_in_the_placement_that_was_asked_for(placement, causal, taught_causal, text, tmp_path):
    result, folder = taught_causal
    if placement == "append":
        settings = TeachSettings(keep_all=True, placement=placement)
        result, folder = teach(causal, texts=text, words=WORDS, settings=settings, device="cpu"), tmp_path / "taught"
        result.save_pretrained(folder)
    assert result.as_json()["settings"]["placement"] == placement
    old, new = loaded(causal), loaded(folder)
    for word in WORDS:
        appended = len(old.subwords(word)) + len(old.tokens.behind_a_word("/")) + 1
        assert len(new.subwords(word)) == (appended if placement == "append" else 1)
    plurals = [f"{word}s" for word in WORDS]
    forms = {one for word in (*WORDS, *plurals) for one in (word, word.capitalize())}  # it keeps capitals
    assert taught_tokens(new.model, new.tokenizer).keys() == forms
    assert result.all_words == WORDS
    done = rarewords("affected", "--model", folder, text)
    assert len(done.stdout.splitlines()) == 2 * CONTEXTS
