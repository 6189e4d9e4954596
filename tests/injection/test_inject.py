"""Injection: new words become one token with exactly their embedding, and nothing else changes."""

import os
import re
import subprocess
import sys
from bisect import bisect_right
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForMaskedLM, AutoTokenizer

from rarewords import LanguageModel, Query, WordEmbeddings, inject
from rarewords.injection.forms import begin_other_words, comes_from
from rarewords.injection.inject import inject_folder, save_folder
from rarewords.injection.vocabulary import added_words
from rarewords.models import load_pretrained
from tests.architectures import ARCHITECTURES, real_text, small_model
from tests.cli.run import rarewords
from tests.errors import refused_with


def embeddings_for(words, dim, seed=0):
    numbers = np.random.default_rng(seed).standard_normal((len(words), dim)).astype(np.float32) * 0.05
    return WordEmbeddings(words, numbers, {"model": "test", "seed": seed})


def logits(model, tokenizer, text):
    with torch.no_grad():
        return model(**tokenizer(text, return_tensors="pt")).logits


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture_saved_and_loaded_by_plain_transformers(architecture, tied, tmp_path):
    model, tokenizer = small_model(architecture, tied=tied)
    dim = LanguageModel(model, tokenizer).dim
    old_text = f"the people of the world saw {tokenizer.mask_token} and a kumquat"
    old_tokens = tokenizer(old_text.replace("kumquat", "unicycle"))["input_ids"]
    old_logits = logits(model, tokenizer, old_text.replace("kumquat", "unicycle"))
    old_rows = model.get_input_embeddings().weight.clone()
    longer = "two xkumquats"
    plain = tokenizer.tokenize(longer)

    embeddings = embeddings_for(["kumquat", "salsify"], dim)
    result = inject(model, tokenizer, embeddings)
    save_folder(model, tokenizer, tmp_path / "taught", base=None, card="# taught")
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "taught").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "taught")

    rows = model.get_input_embeddings().weight
    torch.testing.assert_close(rows[: len(old_rows)], old_rows, atol=0, rtol=0)
    entries = added_words(tokenizer, len(old_rows))
    for word, token in result.ids.items():
        assert entries[word][0] == token
        for one in entries[word]:
            np.testing.assert_array_equal(rows[one].detach().numpy(), embeddings[word])
        for text in (word, f"a {word} .", f'"{word}"', f"({word})", f"one, {word}; two"):
            assert sum(one in entries[word] for one in tokenizer(text)["input_ids"]) == 1
    assert tokenizer.tokenize(longer) == plain
    assert tokenizer(old_text.replace("kumquat", "unicycle"))["input_ids"] == old_tokens
    new_logits = logits(model, tokenizer, old_text.replace("kumquat", "unicycle"))
    assert torch.equal(new_logits[..., : old_logits.shape[-1]], old_logits)
    new_ids = [one for ids in entries.values() for one in ids]
    assert torch.softmax(logits(model, tokenizer, old_text), -1)[..., new_ids].max() < 1e-6


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
@pytest.mark.parametrize("tied", [True, False])
def test_words_are_answers_only_with_allow_prediction(architecture, tied):
    model, tokenizer = small_model(architecture, tied=tied)
    wanted = LanguageModel(*small_model(architecture, tied=tied))
    # An embedding that points where the prediction head already points is the likeliest answer of all.
    head = model.get_output_embeddings()
    captured = []
    hook = head.register_forward_pre_hook(lambda _, inputs: captured.append(inputs[0].detach()))
    text = f"the war of the {tokenizer.mask_token} ."
    logits(model, tokenizer, text)
    hook.remove()
    place = tokenizer(text)["input_ids"].index(tokenizer.mask_token_id)
    direction = captured[0][0, place].numpy()
    usual = float(wanted.embeddings.norm(dim=1).mean())  # an embedding of the usual length
    embeddings = WordEmbeddings(["kumquat"], direction[None] / np.linalg.norm(direction) * usual)
    token = inject(model, tokenizer, embeddings, allow_prediction=True).ids["kumquat"]
    assert logits(model, tokenizer, text)[0, place].argmax() == token
    silent, silent_tokenizer = small_model(architecture, tied=tied)
    inject(silent, silent_tokenizer, embeddings)
    assert logits(silent, silent_tokenizer, text)[0, place].argmax() != token
    assert wanted.dim == embeddings.dim


@pytest.fixture(scope="module")
def taught():
    """The bundled model with 2,000 words of real text that it splits."""
    model, tokenizer = load_pretrained()
    before = LanguageModel.from_pretrained("default", device="cpu")
    counts = Counter(re.findall(r"[a-z]{4,}", real_text().lower()))
    frequent = [word for word, _ in counts.most_common()]
    words = [
        word for word, subwords in zip(frequent, before.tokens.subwords_of(frequent), strict=True) if len(subwords) > 1
    ][:2000]
    assert len(words) == 2000
    embeddings = embeddings_for(words, before.dim)
    every = {_folded(word) for word in re.findall(r"[^\W_]+", real_text())}
    result = inject(model, tokenizer, embeddings, whole=begin_other_words(words, every))
    return before, model.eval(), tokenizer, embeddings, result


def test_a_megabyte_of_text_without_the_new_words_is_unchanged(taught):
    before, model, tokenizer, embeddings, _ = taught
    new = set(embeddings.words)
    lines = real_text().splitlines()
    assert sum(len(line) for line in lines) > 1_000_000
    known = sorted(new)

    def covered(word):
        """Whether a word is new, or a form of a new word."""
        place = bisect_right(known, word)
        return any(comes_from(word, one) or word == one for one in known[max(0, place - 40) : place])

    # Take the new words out of the text, and leave everything else: other words, prefixes, hyphens, accents.
    cleaned = [re.sub(r"[^\W_]+", lambda m: "" if covered(_folded(m.group())) else m.group(), line) for line in lines]
    assert sum(len(line) for line in cleaned) > 900_000
    old, now = before.tokenizer(cleaned)["input_ids"], tokenizer(cleaned)["input_ids"]
    assert old == now
    for ids in old[:8]:
        batch = torch.tensor([ids[:128]])
        with torch.no_grad():
            a, b = before.model(batch).logits, model(batch).logits
        assert torch.equal(a, b[..., : a.shape[-1]])
        torch.testing.assert_close(torch.softmax(a, -1), torch.softmax(b, -1)[..., : a.shape[-1]])


def _folded(word):
    import unicodedata

    return "".join(c for c in unicodedata.normalize("NFD", word.lower()) if unicodedata.category(c) != "Mn")


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_every_new_word_is_one_token_with_its_embedding_wherever_it_stands(taught, data):
    _, model, tokenizer, embeddings, result = taught
    word = data.draw(st.sampled_from(list(embeddings.words)))
    shape = data.draw(st.sampled_from([str.lower, str.upper, str.capitalize]))
    left = data.draw(st.sampled_from(["", "the ", "(", '"', "end. ", "- ", "x/", "line\n", "«", "it's ", "…"]))
    right = data.draw(st.sampled_from(["", " is", ")", '"', ".", ", and", "'s", "-like", "\n", "!?", "»"]))
    ids = tokenizer(left + shape(word) + right, add_special_tokens=False)["input_ids"]
    assert ids.count(result.ids[word]) == 1
    outside = (
        tokenizer(left, add_special_tokens=False)["input_ids"],
        tokenizer(right, add_special_tokens=False)["input_ids"],
    )
    assert ids == [*outside[0], result.ids[word], *outside[1]]
    row = model.get_input_embeddings().weight[result.ids[word]].detach().numpy()
    np.testing.assert_array_equal(row, embeddings[word])


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_words_that_end_like_a_new_word_keep_the_subwords_they_had(taught, data):
    before, _, tokenizer, embeddings, result = taught
    word = data.draw(st.sampled_from(list(embeddings.words)))
    longer = data.draw(st.sampled_from(["un{}", "x{}x", "co{}s"])).format(word)
    if longer not in result.ids:
        assert tokenizer.tokenize(f"a {longer} .") == before.tokenizer.tokenize(f"a {longer} .")


def test_the_embedding_in_the_folder_answers_like_the_embedding_in_a_query(taught):
    before, model, tokenizer, embeddings, _ = taught
    after = LanguageModel(model, tokenizer)
    word = embeddings.words[7]
    pattern = "a <W> is a kind of _ ."
    inside = after.fill([Query(pattern, word)], top_k=20)
    free = before.fill([Query(pattern, word, embeddings[word])], top_k=20)
    np.testing.assert_array_equal(inside.ids, free.ids)


@pytest.mark.parametrize(
    "word",
    ["ice cream van", "naïvetéx", "jack-in-the-boxx", "o'brienesque", "ёжикам", "中国人民", "हिन्दुस्तानियों", "e.g.x"],
)
def test_phrases_accents_hyphens_apostrophes_and_other_scripts_become_one_token(word):
    model, tokenizer = load_pretrained()
    token = inject(model, tokenizer, embeddings_for([word], 384)).ids[word]
    for text in (word, f"an {word}, two", f'"{word}"', word.upper()):
        assert tokenizer(text)["input_ids"].count(token) == 1


@pytest.mark.parametrize(
    "words",
    [["world", "house"], ["kumquat", "Kumquat"], ["kum\x07quat"], [" kumquat"], ["\u0301\u0301"]],
    ids=["known", "the same", "control character", "white space", "nothing at all"],
)
def test_words_that_cannot_be_injected_are_refused_and_nothing_changes(words):
    model, tokenizer = load_pretrained()
    before = model.get_input_embeddings().weight.clone()
    with refused_with("word"):
        inject(model, tokenizer, embeddings_for(words, 384))
    assert len(tokenizer) == len(before) == 30522
    assert torch.equal(model.get_input_embeddings().weight, before)


@pytest.mark.parametrize("architecture", ["roberta", "albert"])  # a subword without a space before it
def test_a_word_spelled_like_a_subword_of_other_words_leaves_that_subword_alone(architecture):
    model, tokenizer = small_model(architecture)
    lm, rows = LanguageModel(model, tokenizer), model.get_input_embeddings().weight
    size, before = len(tokenizer), rows.clone()
    spelled = [name for name in tokenizer.get_vocab() if name.isascii() and name.isalpha() and len(name) > 2]
    word = next(name for name in sorted(spelled) if len(lm.subwords(name)) > 1)
    assert inject(model, tokenizer, embeddings_for([word], lm.dim)).ids == {word: size}
    assert tokenizer(f"a {word} .")["input_ids"].count(size) == 1
    assert torch.equal(model.get_input_embeddings().weight[:size], before)


def test_an_embedding_of_the_wrong_size_is_refused():
    model, tokenizer = load_pretrained()
    with refused_with("model-mismatch"):
        inject(model, tokenizer, embeddings_for(["kumquat"], 768))


def test_words_the_vocabulary_holds_are_skipped(tmp_path):
    model, tokenizer = load_pretrained()
    before = model.get_input_embeddings().weight.clone()
    embeddings = embeddings_for(["kumquat", "world"], 384)
    assert inject(model, tokenizer, embeddings).skipped == ("world",)
    assert torch.equal(model.get_input_embeddings().weight[: len(before)], before)
    assert tokenizer.tokenize("world of kumquat") == ["world", "of", "kumquat"]
    embeddings.save(tmp_path / "v.safetensors")
    done = rarewords("inject", "--embeddings", tmp_path / "v.safetensors", "--out", tmp_path / "out")
    assert done.stdout == f"{tmp_path / 'out'}: 1 words; skipped 1 that the model has already: world\n"


def test_a_taught_folder_has_a_card_and_loads_without_rarewords(tmp_path):
    embeddings = embeddings_for(["kumquat"], 384)
    inject_folder("default", embeddings, tmp_path / "taught")
    assert "kumquat" in (tmp_path / "taught" / "README.md").read_text()
    code = (
        "import sys; sys.modules['rarewords'] = None\n"
        "from transformers import AutoTokenizer, AutoModelForMaskedLM\n"
        f"t = AutoTokenizer.from_pretrained({str(tmp_path / 'taught')!r})\n"
        f"m = AutoModelForMaskedLM.from_pretrained({str(tmp_path / 'taught')!r})\n"
        "print(t.tokenize('a Kumquat.'), m.get_input_embeddings().weight[-1, 0].item())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "['a', 'kumquat', '.']" in done.stdout
    assert float(done.stdout.split()[-1]) == float(embeddings["kumquat"][0])


def test_an_existing_folder_is_not_overwritten_and_a_failure_leaves_nothing(tmp_path):
    (tmp_path / "taught").mkdir()
    (tmp_path / "taught" / "mine.txt").write_text("keep")
    with refused_with("output"):
        inject_folder("default", embeddings_for(["kumquat"], 384), tmp_path / "taught")
    assert [path.name for path in tmp_path.iterdir()] == ["taught"]
    with refused_with("model-mismatch"):
        inject_folder("default", embeddings_for(["kumquat"], 3), tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["taught"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_target_is_explained(tmp_path):
    tmp_path.chmod(0o500)
    with refused_with("output"):
        inject_folder("default", embeddings_for(["kumquat"], 384), tmp_path / "taught")


def test_the_card_names_the_base_model_and_not_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    embeddings = embeddings_for(["kumquat", "salsify"], 384)
    inject_folder("default", embeddings.subset(["kumquat"]), "models/mine")
    inject_folder("models/mine", embeddings.subset(["salsify"]), "taught")
    card = (tmp_path / "taught" / "README.md").read_text("utf-8")
    assert "# mine with 1 more word\n" in card
    assert "models/mine" not in card
