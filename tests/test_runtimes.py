"""A taught folder gives the same token ids in every runtime, and text without taught words the ids of before."""

import json
import shutil
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModel, AutoTokenizer

from rarewords import LanguageModel, WordEmbeddings, inject
from rarewords.injection.inject import inject_folder, save_folder
from rarewords.models import load_pretrained
from tests.architectures import real_text, sentence_transformer, small_causal, small_model

NODE = Path(__file__).parent / "runtimes"
WORDS = ["quillop", "cur", "deep vein", "covid-19", "c++", "naïvetéx", "berrywort"]
SENTENCES = [
    'A Quillop, two quillops (quillop) "quillop" quillop\'s quillop-like xquillop',
    "The cur, CURS and curacao; deep  vein, deep veins, deep-vein",
    "covid-19 COVID-19, covid-190; C++ c++ c#; naïvetéx NAÏVETÉX",
    "berrywort's berryworts: £quillop quillop€ _quillop_ quillop\nquillop",
]
PLACEMENTS = ["replace", "append"]
KINDS = ["masked", "encoder", "gpt2", "llama", "albert"]


def plain_sentences(number=1000):
    """Sentences of real text without any of the words."""
    lines = [part for line in real_text().splitlines() for part in line.split(". ")]
    fit = (line for line in lines if 20 < len(line) < 300)
    left_out = ("cur", "vein", "c++", "berry", "quillop", "covid")
    return [line for line in fit if not any(word in line.lower() for word in left_out)][:number]


def taught_folder(kind, placement, folder):
    """A folder that was taught the words: a masked LM, an encoder, causal LMs, Unigram."""
    if kind == "encoder":
        base = sentence_transformer(folder / "base")
        inject_folder(base, embeddings(384), folder / "taught", placement=placement)
        return AutoTokenizer.from_pretrained(base), folder / "taught"
    if kind == "masked":
        model, tokenizer = load_pretrained()
    else:
        model, tokenizer = small_model(kind) if kind == "albert" else small_causal(kind)
    before = AutoTokenizer.from_pretrained(save(model, tokenizer, folder / "base"))
    inject(model, tokenizer, embeddings(LanguageModel(model, tokenizer).dim), placement=placement)
    save_folder(model, tokenizer, folder / "taught", base=None, card="# taught")
    return before, folder / "taught"


def save(model, tokenizer, folder):
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def embeddings(dim):
    numbers = np.random.default_rng(0).standard_normal((len(WORDS), dim)).astype(np.float32) * 0.05
    return WordEmbeddings(WORDS, numbers)


@pytest.fixture(scope="module", params=product(KINDS, PLACEMENTS), ids="-".join)
def taught(request, tmp_path_factory):
    """The kind, the tokenizer of before and the taught folder, beside which ``base`` is."""
    kind, placement = request.param
    return kind, *taught_folder(kind, placement, tmp_path_factory.mktemp(f"{kind}-{placement}"))


@pytest.fixture(scope="module")
def node():
    if shutil.which("node") is None or not (NODE / "node_modules" / "@huggingface" / "tokenizers").is_dir():
        pytest.skip("needs Node.js, and npm install in tests/runtimes")
    return shutil.which("node")


def ids_in_javascript(node, folder, texts):
    asked = {"input": json.dumps(texts), "capture_output": True, "text": True, "check": True}
    return json.loads(subprocess.run([node, NODE / "encode.mjs", folder], **asked).stdout)


def test_javascript_and_python_give_the_same_ids(taught, node):
    kind, before, folder = taught
    texts = [*SENTENCES, *plain_sentences()]
    if kind == "albert":  # Unigram rounds differently in JavaScript, so that ties may be broken otherwise
        old = zip(before(texts)["input_ids"], ids_in_javascript(node, folder.with_name("base"), texts), strict=True)
        texts = [text for text, (one, other) in zip(texts, old, strict=True) if one == other]
        assert len(texts) > 900
    python = AutoTokenizer.from_pretrained(folder)(texts)["input_ids"]
    assert ids_in_javascript(node, folder, texts) == python
    assert any(token >= len(before) for ids in python for token in ids)


def test_tokenizers_alone_gives_the_same_ids_and_other_text_those_of_before(taught):
    _, before, folder = taught
    texts, plain = SENTENCES, plain_sentences()
    after = AutoTokenizer.from_pretrained(folder)
    alone = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert [one.ids for one in alone.encode_batch(texts)] == after(texts)["input_ids"]
    assert after(plain)["input_ids"] == before(plain)["input_ids"]


def test_states_of_text_without_taught_words_are_identical_to_the_bit(tmp_path):
    before, folder = taught_folder("encoder", "replace", tmp_path)
    texts = plain_sentences(20)
    states = []
    for path in (tmp_path / "base", folder):
        model = AutoModel.from_pretrained(path).eval()
        with torch.no_grad():
            states.append(model(**before(texts, return_tensors="pt", padding=True)).last_hidden_state)
    assert torch.equal(*states)
