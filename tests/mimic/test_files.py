"""Files of a mimic model, and the model that ships for the bundled language model."""

import json

import pytest
import torch
from safetensors.torch import save_file

from rarewords import LanguageModel, Query, WordEmbeddings
from rarewords.learner.known_words import KnownWords
from rarewords.learner.settings import BUNDLED_MIMIC
from rarewords.mimic.attentive import AttentiveMimicking
from rarewords.models import load_packed
from tests.architectures import small_model
from tests.cli.run import rarewords
from tests.errors import refused_with
from training.pack_mimic import pack


@pytest.fixture(scope="module")
def mimic(lm):
    return AttentiveMimicking.from_pretrained(BUNDLED_MIMIC, lm)


def test_a_misspelling_lies_beside_what_was_meant(lm, mimic):
    known = KnownWords.of(lm)
    meant = {"televission": "television", "governmment": "government", "univerrsity": "university"}
    for word, right in meant.items():
        direction = known.directions(torch.from_numpy(mimic.learn(word).embedding)[None])
        near = (known.directions(known.embeddings) @ direction[0]).topk(3).indices
        assert right in {lm.tokenizer.convert_ids_to_tokens(int(known.ids[row])) for row in near}


def test_sentences_say_what_an_invented_word_means(lm, mimic):
    sentences = [
        "The recipe needs sugar, butter, a blimpet and two apples.",
        "Slice the blimpet and the lemon and add honey to the fruit salad.",
        "Orange, peach and blimpet trees grow in the orchard.",
    ]
    made = mimic.learn("blimpet", sentences)
    assert made.context_share > 0.4
    assert abs(sum(made.weights) - 1) < 1e-4
    pattern = "<W> and _ ."
    before, after = (lm.fill([Query(pattern, "blimpet", v)], top_k=20).words(0) for v in (None, made.embedding))
    food = {"apple", "apples", "fruit", "orange", "lemon", "sugar", "butter", "honey", "tomato", "juice", "corn"}
    assert len(food & set(after)) > len(food & set(before))


def test_a_folder_of_another_format_or_model_is_refused(lm, mimic, tmp_path):
    assert mimic.settings.scale == 1.4
    assert len(mimic.history) == mimic.settings.epochs
    with refused_with("learner"):
        AttentiveMimicking.from_pretrained(tmp_path, lm)
    mimic.save_pretrained(tmp_path / "new")
    config = json.loads((tmp_path / "new" / "config.json").read_text())
    for changes, code in (
        ({"format": "rarewords.mimic/1"}, "learner"),
        ({"fingerprint": "0123"}, "model-mismatch"),
        ({"history": [{"epoch": "one"}]}, "damaged"),
    ):
        (tmp_path / "new" / "config.json").write_text(json.dumps({**config, **changes}))
        with refused_with(code):
            AttentiveMimicking.from_pretrained(tmp_path / "new", lm)


def test_packed_tensors_differ_by_less_than_half_a_step(tmp_path):
    torch.manual_seed(0)
    tensors = {"matrix": torch.randn(20, 30), "embedding": torch.randn(30), "row": torch.randn(1, 30)}
    save_file(pack(tensors), tmp_path / "packed.safetensors")
    found = load_packed(tmp_path / "packed.safetensors")
    assert torch.equal(found["embedding"], tensors["embedding"])
    assert torch.equal(found["row"], tensors["row"])
    steps = tensors["matrix"].abs().amax(1, keepdim=True) / 127
    assert ((found["matrix"] - tensors["matrix"]).abs() / steps).max() < 0.6
    assert not torch.equal(found["matrix"], tensors["matrix"])


def test_the_command_uses_it_and_says_whom_it_is_for(corpus, tmp_path):
    words, out = tmp_path / "words.txt", tmp_path / "am.safetensors"
    words.write_text("kumquat\ntelevission\ncity\n")
    infer = ["mimic", "infer", "--words", words, "--corpus", corpus.path, "--out", out]
    rarewords("-q", *infer, "--learner", "am")
    assert WordEmbeddings.load(out).words == ["kumquat", "televission", "city"]
    assert WordEmbeddings.load(out).settings["mimic"]["scale"] > 1
    model, tokenizer = small_model("bert")
    with refused_with("model-mismatch"):
        AttentiveMimicking.from_pretrained(BUNDLED_MIMIC, LanguageModel(model, tokenizer, name="other"))
