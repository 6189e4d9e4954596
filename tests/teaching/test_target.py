"""Teaching sentence-embedding models and causal LMs: the folders, the promises and the judge."""

import json
import shlex
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

from rarewords import InputError, LanguageModel, WordLearner, WordVectors, inject, teach
from rarewords.files import from_json
from rarewords.forget import taught_tokens
from rarewords.lm import InputRow
from rarewords.models import load_pretrained, model_kind
from rarewords.teaching.judge import Made
from rarewords.teaching.learners import TransportedLearner
from rarewords.teaching.outcome import Learned
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.splits import Fold, Split
from rarewords.teaching.target import (
    HeldOut,
    judge_on_target,
    scores_of_what_follows,
    sentence_embeddings,
)
from rarewords.teaching.teach import save_taught
from tests.architectures import CAUSAL, real_text, sentence_transformer, small_causal, small_model
from tests.cli.run import rarewords, refused
from tests.teaching.invented import occurrences_of, sentences_of
from tests.test_documents import ROOT, code_blocks, shown_commands

WORDS = ["blimpet", "oldanka"]
CONTEXTS = 6
PLAIN = "The ship sailed out of the harbour at dawn."


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
    settings = TeachSettings(keep_all=True)
    out = tmp_path_factory.mktemp("taught") / "model"
    return teach([text], out, words=WORDS, model=encoder, settings=settings, workers=1, device="cpu")


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    folder = tmp_path_factory.mktemp("causal") / "model"
    for part in small_causal("llama"):
        part.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def taught_causal(causal, text, tmp_path_factory):
    settings = TeachSettings(keep_all=True, slash=False)
    out = tmp_path_factory.mktemp("taught") / "model"
    return teach([text], out, words=WORDS, model=causal, settings=settings, workers=1, device="cpu")


def test_the_kind_of_a_model_is_seen_from_its_folder(encoder, causal, tmp_path):
    assert [model_kind(name) for name in ("default", encoder, causal)] == ["masked", "encoder", "causal"]
    AutoModel.from_pretrained(encoder).save_pretrained(tmp_path / "bare")
    assert model_kind(tmp_path / "bare") == "encoder"
    (tmp_path / "bare" / "modules.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match="lists no modules"):
        load_pretrained(tmp_path / "bare", "encoder")


def test_only_teach_takes_a_model_that_is_no_masked_lm(encoder, causal):
    assert "is an encoder without a masked-LM head" in refused("ask", "--model", encoder, "a _ .")
    assert "is a causal LM, but this needs a masked LM" in refused("ask", "--model", causal, "a _ .")


def test_an_encoder_is_taught_listed_words_only(encoder, text, tmp_path):
    for more in ((), ("--plan",)):
        line = refused("teach", text, "--model", encoder, "--out", tmp_path / "taught", *more)
        assert "list names it cannot know with --words" in line
    assert list(tmp_path.iterdir()) == []
    lm = LanguageModel.from_pretrained(encoder, device="cpu", kind="encoder")
    with pytest.raises(InputError, match="is an encoder"):
        teach([text], tmp_path / "taught", model=lm)
    assert "blimpet" in rarewords("scan", text, "--model", encoder).stdout


def test_a_taught_encoder_keeps_its_modules(encoder, taught_encoder):
    files = {path.relative_to(encoder) for path in encoder.rglob("*")}
    new = {path.relative_to(taught_encoder.folder) for path in taught_encoder.folder.rglob("*")}
    assert new - files == {path for path in new if path.name in ("README.md", "teaching.json")}
    assert files <= new
    for name in ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json"):
        assert (taught_encoder.folder / name).read_bytes() == (encoder / name).read_bytes()


def test_a_taught_encoder_embeds_other_text_as_before_to_the_last_bit(encoder, taught_encoder):
    states = []
    for folder in (encoder, taught_encoder.folder):
        tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
        with torch.no_grad():
            states.append(model(**tokenizer(PLAIN, return_tensors="pt")).last_hidden_state)
    assert torch.equal(*states)


def test_a_reader_reads_sixteen_sentences_of_a_word(encoder, tmp_path):
    (tmp_path / "text.txt").write_text(sentences_of(*WORDS).replace("oldanka", "blimpet"), "utf-8")
    options = {"model": encoder, "settings": TeachSettings(keep_all=True), "workers": 1, "device": "cpu"}
    (one,) = teach([tmp_path / "text.txt"], tmp_path / "taught", words=["blimpet"], **options).words
    assert one.count > 20
    assert one.contexts == 16


def test_a_slot_of_patterns_in_the_text_itself_does_no_harm(encoder, tmp_path):
    lines = sentences_of("blimpet", most=3) + "The mark <W> stands before a ripe blimpet _ on the tree.\n"
    (tmp_path / "text.txt").write_text(lines, "utf-8")
    options = {"model": encoder, "settings": TeachSettings(keep_all=True), "workers": 1, "device": "cpu"}
    (one,) = teach([tmp_path / "text.txt"], tmp_path / "taught", words=["blimpet"], **options).words
    assert one.judgement.contexts == 4


def test_the_reader_may_treat_capitals_in_another_way(encoder, causal, tmp_path):
    for architecture in ("bert", "roberta"):
        for part in small_model(architecture):
            part.save_pretrained(tmp_path / architecture)
    (tmp_path / "text.txt").write_text(f"{real_text()[:200_000]}\nBlimpet is sour.\nA ripe blimpet fell.\n")
    options = {"settings": TeachSettings(keep_all=True), "workers": 1, "device": "cpu"}
    for model, reader in ((encoder, "roberta"), (causal, "bert")):
        given = {"model": model, "reader": tmp_path / reader, **options}
        taught = teach([tmp_path / "text.txt"], tmp_path / f"by-{reader}", words=["blimpet"], **given)
        assert [one.word for one in taught.words] == ["blimpet"]
        assert taught.learner.startswith("no fitted matrix: the text has 0 words to fit one on")


def test_a_taught_encoder_puts_words_near_their_kind(encoder, taught_encoder):
    kinds = ["fruit", "boat", "law", "music"]
    near = []
    for folder in (encoder, taught_encoder.folder):
        lm = LanguageModel.from_pretrained(folder, device="cpu", kind="encoder")
        readings = [InputRow(tuple(lm.tokenizer(word)["input_ids"])) for word in [*WORDS, *kinds]]
        embedded = sentence_embeddings(lm, readings)
        near.append((embedded[:2] @ embedded[2:].T).argmax(dim=1).tolist())
    assert near[1] == [0, 1] != near[0]


def test_sentence_transformers_loads_the_folder(encoder, taught_encoder):
    # Imported here: it takes seconds, which the other tests need not spend.
    from sentence_transformers import SentenceTransformer

    old, new = (SentenceTransformer(str(one)) for one in (encoder, taught_encoder.folder))
    assert np.array_equal(old.encode(PLAIN), new.encode(PLAIN))
    assert not np.array_equal(old.encode("a blimpet"), new.encode("a blimpet"))


def test_the_report_says_what_was_measured(taught_encoder, taught_causal):
    report = json.loads((taught_encoder.folder / "teaching.json").read_text("utf-8"))
    assert report["kind"] == "encoder"
    card = (taught_encoder.folder / "README.md").read_text("utf-8")
    assert "library_name: sentence-transformers" in card
    assert 'SentenceTransformer("THIS_FOLDER")' in card
    assert "answers to the question" not in card  # it was asked none
    card = (taught_causal.folder / "README.md").read_text("utf-8")
    assert "AutoModelForCausalLM" in card
    assert "tokens that follow the word" in card


def test_affected_names_the_documents_with_a_taught_word(taught_encoder, tmp_path):
    (tmp_path / "a.txt").write_text(f"{PLAIN}\nTwo Blimpet and an oldanka.\nblimpets\n", "utf-8")
    records = [{"name": "x1", "body": "An\noldanka"}, {"name": "x2", "body": PLAIN}]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")
    done = rarewords("affected", "--model", taught_encoder.folder, tmp_path / "a.txt")
    assert done.stdout == f"{tmp_path / 'a.txt'}:2\tblimpet, oldanka\n"
    options = ("--field", "body", "--id", "name")
    done = rarewords("affected", "--model", taught_encoder.folder, tmp_path / "b.jsonl", *options)
    assert done.stdout == "x1\toldanka\n"
    assert "has no teaching.json" in refused("affected", "--model", tmp_path, tmp_path / "a.txt")


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("architecture", CAUSAL)
def test_a_causal_lm_reads_a_new_word_and_does_not_say_it(architecture, tied, tmp_path):
    old, tokenizer = small_causal(architecture, tied=tied)
    model, size = small_causal(architecture, tied=tied)[0], len(tokenizer)
    matrix = np.random.default_rng(0).normal(size=(2, 32)).astype(np.float32)
    ids = inject(model, tokenizer, WordVectors(WORDS, matrix)).ids
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path)
    new, tokenizer = AutoModelForCausalLM.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    text = tokenizer(PLAIN, return_tensors="pt")
    with torch.no_grad():
        assert torch.equal(new(**text).logits[..., :size], old(**text).logits)
        if not tied:
            assert new(**text).logits.softmax(dim=-1)[..., size:].max() < 1e-3
    assert tokenizer("a blimpet.")["input_ids"][1] == ids["blimpet"]
    assert np.allclose(new.get_input_embeddings().weight[list(ids.values())].detach(), matrix)
    assert new.generation_config.suppress_tokens == sorted(ids.values())
    with torch.no_grad():  # however probable the words are
        new.get_output_embeddings().weight[size:] *= 100
    said = new.generate(**text, max_new_tokens=8, do_sample=True, eos_token_id=None)
    assert not set(said[0].tolist()) & set(ids.values())


def test_a_causal_lm_may_say_the_words_if_asked():
    model, tokenizer = small_causal("llama")
    inject(model, tokenizer, WordVectors(["blimpet"], np.ones((1, 32), np.float32)), predictable=True)
    assert model.generation_config.suppress_tokens is None


def test_a_causal_lm_is_taught_whole(taught_causal, causal, lm):
    assert [one.word for one in taught_causal.words] == WORDS
    assert all(one.judgement.contexts > 1 for one in taught_causal.words)
    new = LanguageModel.from_pretrained(taught_causal.folder, device="cpu", kind="causal")
    old = LanguageModel.from_pretrained(causal, device="cpu", kind="causal")
    assert len(new.pieces("blimpet")) == 1
    spread = TransportedLearner.fit(WordLearner(lm), old).target
    row = new.embeddings[new.pieces("blimpet")[0]]
    assert float((row - spread.mean).norm()) == pytest.approx(spread.spread, rel=1e-4)


def test_a_causal_lm_is_taught_a_word_that_occurs_once(causal, tmp_path):
    (tmp_path / "text.txt").write_text(sentences_of("blimpet", most=1), "utf-8")
    taught = teach([tmp_path / "text.txt"], tmp_path / "taught", words=["blimpet"], model=causal, workers=1)
    assert taught.unjudged == ("blimpet",)


def test_the_log_probability_of_what_follows_is_that_of_the_model(causal):
    lm = LanguageModel.from_pretrained(causal, device="cpu", kind="causal")
    ids = lm.tokenizer(PLAIN)["input_ids"]
    ((found,),) = scores_of_what_follows(lm, [HeldOut(0, (InputRow(tuple(ids)),), following=3)])
    with torch.no_grad():
        scores = lm.model(torch.tensor([ids])).logits[0].log_softmax(dim=-1)
    wanted = np.mean([float(scores[at - 1, ids[at]]) for at in range(len(ids) - 3, len(ids))])
    assert found == pytest.approx(wanted, abs=1e-5)


def made_of(word, vector):
    held_out = occurrences_of(word)
    split = Split(word, len(held_out), (), (Fold((), held_out),))
    return Made(split, vector, vector[None], 1.0, 1)


def test_the_judge_prefers_the_true_meaning(encoder, lm):
    target = LanguageModel.from_pretrained(encoder, device="cpu", kind="encoder")
    meanings = {"blimpet": "lemon", "oldanka": "boat", "thassel": "parliament"}
    made = [
        made_of(word, target.embeddings[target.whole_words[meaning]].numpy())
        for word, meaning in meanings.items()
    ]
    judged = judge_on_target(target, lm, made, slash=True)
    assert [one.gain > 0 for one in judged] == [True, True, False]
    assert [one.verdict for one in judged[1:]] == ["better", "worse"]
    assert all(one.replace for one in judged)


def test_a_word_that_an_encoder_reads_well_is_left_alone(encoder, lm):
    target = LanguageModel.from_pretrained(encoder, device="cpu", kind="encoder")
    lines = sentences_of("oldanka").replace("Oldanka", "ship").replace("oldanka", "ship").splitlines()
    starts = [line.index("ship") for line in lines]
    held_out = tuple((line, at, at + 4) for line, at in zip(lines, starts, strict=True))
    vector = target.embeddings[target.whole_words["boat"]].numpy()
    known = Made(Split("ship", len(lines), (), (Fold((), held_out),)), vector, vector[None], 1.0, 1)
    told, asked = judge_on_target(target, lm, [known, made_of("oldanka", vector)], slash=True)
    assert told.verdict == "worse"
    assert told.least > 2 * asked.least
    assert asked.verdict == "better"


def test_a_causal_lm_reads_each_word_in_the_way_that_tells_it_more(causal, lm):
    target = LanguageModel.from_pretrained(causal, device="cpu", kind="causal")
    vectors = np.random.default_rng(0).normal(size=(12, 32)).astype(np.float32)
    made = [made_of("blimpet", vector) for vector in vectors]
    both, alone = (judge_on_target(target, lm, made, slash=slash) for slash in (True, False))
    assert {one.replace for one in both} == {True, False}
    assert all(one.replace for one in alone)
    for one, other in zip(both, alone, strict=True):
        assert one.vector == other.vector if one.replace else one.vector > other.vector


def test_both_ways_to_read_a_word_go_into_one_folder(encoder, text, taught_encoder, tmp_path):
    report = json.loads((taught_encoder.folder / "teaching.json").read_text("utf-8"))
    (first, second) = report["words"]
    first["judgement"] |= {"replace": True, "least": -1.0}
    second["judgement"] |= {"replace": False, "least": -1.0}
    words = tuple(from_json(Learned, {**one, "verdict": ""}) for one in report["words"])
    taught = replace(taught_encoder, words=words, folder=tmp_path / "mixed", worse=())
    lm = LanguageModel.from_pretrained(encoder, device="cpu", kind="encoder")
    old = LanguageModel.from_pretrained(taught_encoder.folder, device="cpu", kind="encoder")
    rows = old.embeddings[list(taught_tokens(old.model, old.tokenizer).values())].numpy()
    save_taught(lm, WordVectors(WORDS, rows), taught)
    new = LanguageModel.from_pretrained(taught.folder, device="cpu", kind="encoder")
    assert len(new.pieces("blimpet")) == 1
    assert len(new.pieces("oldanka")) == len(lm.pieces("oldanka")) + 2
    assert taught_tokens(new.model, new.tokenizer).keys() == set(WORDS)
    assert "some behind their pieces" in (taught.folder / "README.md").read_text("utf-8")
    done = rarewords("affected", "--model", taught.folder, text)
    assert len(done.stdout.splitlines()) == 2 * CONTEXTS


def test_the_pages_show_code_that_runs(taught_encoder, taught_causal, tmp_path, monkeypatch):
    for page, taught in (("retrieval", taught_encoder), ("causal", taught_causal)):
        (code,) = code_blocks(ROOT / "docs" / "howto" / f"{page}.md", "python")
        folder = tmp_path / page
        folder.mkdir()
        (folder / "taught").symlink_to(taught.folder)
        monkeypatch.chdir(folder)
        exec(compile(code, page, "exec"), {})


def test_the_commands_of_the_page_on_retrieval_run(encoder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all-MiniLM-L6-v2").symlink_to(encoder)
    lines = sentences_of("oldanka", most=12).splitlines()
    records = [{"id": f"d{number}", "text": line} for number, line in enumerate([*lines, PLAIN])]
    (tmp_path / "documents.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")
    (tmp_path / "names.txt").write_text("oldanka\n", "utf-8")
    commands = list(shown_commands(ROOT / "docs" / "howto" / "retrieval.md"))
    done = [rarewords("-q", *shlex.split(line)[1:]).stdout for line in commands]
    assert "with one more word" in done[0]
    assert "oldanka" in done[1]
    assert done[2] == "".join(f"d{number}\toldanka\n" for number in range(len(lines)))
