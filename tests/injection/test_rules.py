"""The placement ``append``: a saved tokenizer reads ``kumquat`` as ``ku ##m ##qua ##t / <kumquat>``."""

import json
import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForMaskedLM, AutoTokenizer

from rarewords import LanguageModel, Query, WordEmbeddings, inject
from rarewords.injection.inject import save_folder
from rarewords.injection.rules import words_with_rules
from rarewords.models import load_pretrained
from tests.architectures import ARCHITECTURES, real_text, small_model
from tests.errors import refused_with

# Parts of one another, accents, periods, hyphens, signs that mean something in a regular expression.
WORDS = [
    *("kumquat", "kumquats", "deep", "deep vein", "vein", "in deep vein", "vein thrombosis", "naïvetéx"),
    *(
        "c++",
        "node.js",
        "e-mailx",
        "jack-in-the-boxx",
        "boxx",
        "x(y)[z]",
        "o'brienx",
        "a->b",
        "^a|b$",
        "a\\w",
    ),
]
MANY = [f"z{a}{b}q" for a in "abcdefghijkl" for b in "abcdefghijkl"]  # so many that they are numbered


def embeddings_for(words, dim, seed=0):
    numbers = np.random.default_rng(seed).standard_normal((len(words), dim)).astype(np.float32) * 0.05
    return WordEmbeddings(words, numbers)


def taught_bundled(words):
    model, tokenizer = load_pretrained()
    ids = inject(model, tokenizer, embeddings_for(words, 384), placement="append").ids
    return model, tokenizer, ids


@pytest.mark.parametrize("words", [WORDS, WORDS + MANY], ids=["named", "numbered"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture_reads_subwords_and_embedding(architecture, words, tmp_path):
    model, tokenizer = small_model(architecture)
    before = LanguageModel(*small_model(architecture))
    embeddings = embeddings_for(words, before.dim)
    # In two runs: the second renews the rules of the first.
    inject(model, tokenizer, embeddings.subset(words[:5]), placement="append")
    inject(model, tokenizer, embeddings.subset(words[5:]), placement="append")
    save_folder(model, tokenizer, tmp_path / "taught", base=None, card="# taught")
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "taught")
    after = LanguageModel(model, AutoTokenizer.from_pretrained(tmp_path / "taught"))

    assert list(words_with_rules(after.tokenizer)) == words
    ids = after.tokenizer.convert_tokens_to_ids([f"<{word}>" for word in words])
    for word, token in zip(words, ids, strict=True):
        np.testing.assert_array_equal(after.embeddings[token].numpy(), embeddings[word])
        plain, both = (lm.tokenizer(f"a {word}", add_special_tokens=False) for lm in (before, after))
        assert both["input_ids"] == [*plain["input_ids"], *before.tokens.behind_a_word("/"), token]
    # The folder answers as a query does that is given the embedding.
    for pattern in ("a <W> is a kind of _ .", "_ is the <W> of them .", "the ( <W> ) has a _ ."):
        folder = after.fill([Query(pattern, word) for word in words], top_k=10)
        query = before.fill(
            [Query(pattern, word, embeddings[word], placement="append") for word in words], top_k=10
        )
        np.testing.assert_array_equal(folder.ids, query.ids)


@pytest.fixture(scope="module")
def taught():
    """The bundled model's tokenizer before and after, with 2,000 words of real text."""
    before = LanguageModel.from_pretrained("default", device="cpu")
    seen = sorted(set(re.findall(r"[a-z]{4,}", real_text().lower())))
    split = [word for word, own in zip(seen, before.tokens.subwords_of(seen), strict=True) if len(own) > 1]
    words = split[:: len(split) // 2000][:2000]
    model, tokenizer, ids = taught_bundled(words)
    return before, model.eval(), tokenizer, ids


def test_a_megabyte_of_text_without_the_words_is_unchanged(taught):
    before, model, tokenizer, ids = taught
    lines = [
        re.sub(r"\w+", lambda m: "" if _folded(before, m.group()) in ids else m.group(), line)
        for line in real_text().splitlines()
    ]
    assert sum(map(len, lines)) > 900_000
    old, now = before.tokenizer(lines)["input_ids"], tokenizer(lines)["input_ids"]
    assert old == now
    for row in old[:10]:
        batch = torch.tensor([row[:64]])
        with torch.no_grad():
            a, b = before.model(batch).logits, model(batch).logits
        assert torch.equal(a, b[..., : a.shape[-1]])


def _folded(lm, word):
    return lm.tokenizer.backend_tokenizer.normalizer.normalize_str(word)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_the_token_stands_behind_the_word_wherever_it_is(taught, data):
    before, _, tokenizer, ids = taught
    word = data.draw(st.sampled_from(list(ids)))
    shape = data.draw(st.sampled_from([str.lower, str.upper, str.capitalize]))
    left = data.draw(
        st.sampled_from(["", "the ", "(", '"', "end. ", "- ", "x/", "line\n", "«", "it's ", "x<"])
    )
    right = data.draw(
        st.sampled_from(["", " is", ")", '"', ".", ", and", "'s", "-like", "\n", "!?", "»", ">"])
    )
    plain = [before.tokenizer(part, add_special_tokens=False)["input_ids"] for part in (left, word, right)]
    found = tokenizer(left + shape(word) + right, add_special_tokens=False, return_offsets_mapping=True)
    assert found["input_ids"] == [
        *plain[0],
        *plain[1],
        *before.tokens.behind_a_word("/"),
        ids[word],
        *plain[2],
    ]
    # The subwords keep their places in the text; the slash and the token point to the word's last letter.
    own = found["offset_mapping"][len(plain[0]) : len(plain[0]) + len(plain[1]) + 2]
    end = len(left) + len(word)
    assert own[0][0] == len(left)
    assert own[-3][1] == end
    assert own[-2:] == [(end - 1, end)] * 2


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_longer_words_keep_their_subwords(taught, data):
    before, _, tokenizer, ids = taught
    word = data.draw(st.sampled_from(list(ids)))
    longer = data.draw(st.sampled_from(["{}s", "{}ing", "un{}", "{}2", "x{}x", "{}\u00e9", "_{}"])).format(
        word
    )
    if _folded(before, longer) not in ids:
        assert tokenizer.tokenize(f"a {longer} .") == before.tokenizer.tokenize(f"a {longer} .")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A Kumquat, two KUMQUATS", "a ku ##m ##qua ##t / <kumquat> , two ku ##m ##qua ##ts / <kumquats>"),
        ("deep vein thrombosis", "deep vein / <deep vein> th ##rom ##bos ##is"),
        ("in deep \n vein", "in deep vein / <in deep vein>"),
        ("vein, deep vein, deep", "vein / <vein> , deep vein / <deep vein> , deep / <deep>"),
        ("a jack-in-the-boxx", "a jack - in - the - box ##x / <jack-in-the-boxx>"),
        ("the boxx (C++)", "the box ##x / <boxx> ( c + + / <c++> )"),
        ("<kumquat>", "<kumquat>"),
    ],
)
def test_the_longest_word_wins(text, tokens):
    _, tokenizer, _ = taught_bundled(WORDS)
    assert " ".join(tokenizer.tokenize(text)) == tokens


def test_words_without_letters_of_their_own_script_are_found():
    _, tokenizer, ids = taught_bundled(["中国", "ёжикамъ"])
    assert ids["中国"] in tokenizer("我中国人")["input_ids"]
    assert tokenizer("два ЁЖИКАМЪ .")["input_ids"].count(ids["ёжикамъ"]) == 1


def test_the_bundled_model_saved_and_loaded_by_plain_transformers(tmp_path):
    # Its class of tokenizers makes a normalizer of its own, whatever tokenizer.json says.
    model, tokenizer, _ = taught_bundled(["kumquat"])
    save_folder(model, tokenizer, tmp_path / "taught", base=None, card="# taught")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "taught")
    text = "A Kumquat, two kumquats."
    assert " ".join(loaded.tokenize(text)) == "a ku ##m ##qua ##t / <kumquat> , two ku ##m ##qua ##ts ."
    assert dict(loaded(text)) == dict(tokenizer(text))
    assert loaded.model_max_length == tokenizer.model_max_length
    assert loaded.mask_token == tokenizer.mask_token
    loaded.save_pretrained(tmp_path / "again")
    assert AutoTokenizer.from_pretrained(tmp_path / "again").tokenize(text) == loaded.tokenize(text)


def test_adding_words_in_two_runs_gives_the_same_tokenizer_as_one_run():
    words = WORDS + MANY
    _, whole, _ = taught_bundled(words)
    _, parts, _ = taught_bundled(words[:50])
    inject(load_pretrained()[0], parts, embeddings_for(words[50:], 384), placement="append")
    assert parts.backend_tokenizer.to_str() == whole.backend_tokenizer.to_str()


def test_a_word_is_not_taught_twice():
    model, tokenizer, ids = taught_bundled(["kumquat"])
    before = model.get_input_embeddings().weight[ids["kumquat"]].clone()
    for words in (["kumquat"], ["Kumquat"]):
        with refused_with("word"):
            inject(model, tokenizer, embeddings_for(words, 384, seed=1), placement="append")
    done = inject(model, tokenizer, embeddings_for(["Kumquat", "salsify"], 384, seed=1), placement="append")
    assert (list(done.ids), done.skipped) == (["salsify"], ("Kumquat",))
    assert torch.equal(model.get_input_embeddings().weight[ids["kumquat"]], before)


@pytest.mark.parametrize(
    ("architecture", "name"),
    [("bert", "BertTokenizer"), ("distilbert", "DistilBertTokenizer"), ("mpnet", "MPNetTokenizer")],
)
def test_a_tokenizer_of_a_class_of_its_own_keeps_the_rules_when_it_is_loaded(architecture, name, tmp_path):
    model, tokenizer = small_model(architecture)
    tokenizer.save_pretrained(tmp_path / "base")
    model.save_pretrained(tmp_path / "base")
    path = tmp_path / "base" / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "tokenizer_class": name}))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "base")
    # Transformers 5.2 has no class for DistilBERT and takes the general one.
    assert type(tokenizer).__name__ in (name, "TokenizersBackend")
    before = tokenizer("a river in the world .")
    inject(model, tokenizer, embeddings_for(WORDS, 32), placement="append")
    save_folder(model, tokenizer, tmp_path / "taught", base=None, card="# taught")
    after = AutoTokenizer.from_pretrained(tmp_path / "taught")
    assert list(words_with_rules(after)) == WORDS
    assert after(f"a {WORDS[0]} .") == tokenizer(f"a {WORDS[0]} .")
    assert after("a river in the world .") == before  # no token types where the model takes none
