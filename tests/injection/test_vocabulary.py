"""Words in vocabularies: entries, rules that mark them, and what a saved tokenizer makes of text."""

import json
import re
import time

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoModelForMaskedLM, AutoTokenizer

from rarewords import LanguageModel, Query, WordEmbeddings, inject
from rarewords.injection.inject import save_folder, unfit_words
from rarewords.injection.vocabulary import add_entries, added_words, remove_entries, ruled_words
from rarewords.models import load_pretrained
from tests.architectures import ARCHITECTURES, byte_bpe, real_text, small_model, unigram, whole_text_bpe
from tests.errors import refused_with

# Parts of one another, accents, periods, hyphens, signs that mean something in a regular expression.
WORDS = [
    *("kumquat", "kumquats", "deep", "deep vein", "vein", "in deep vein", "vein thrombosis", "naïvetéx"),
    *("c++", "node.js", "e-mailx", "jack-in-the-boxx", "boxx", "x(y)[z]", "o'brienx", "a->b", "^a|b$", "a\\w"),
]


def embeddings_for(words, dim, seed=0):
    numbers = np.random.default_rng(seed).standard_normal((len(words), dim)).astype(np.float32) * 0.05
    return WordEmbeddings(words, numbers)


def taught_bundled(words):
    model, tokenizer = load_pretrained()
    ids = inject(model, tokenizer, embeddings_for(words, 384), placement="append").ids
    return model, tokenizer, ids


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture_reads_subwords_and_embedding(architecture, tmp_path):
    model, tokenizer = small_model(architecture)
    before = LanguageModel(*small_model(architecture))
    embeddings = embeddings_for(WORDS, before.dim)
    # In two runs: the second renews the rules of the first.
    ids = inject(model, tokenizer, embeddings.subset(WORDS[:5]), placement="append").ids
    ids |= inject(model, tokenizer, embeddings.subset(WORDS[5:]), placement="append").ids
    save_folder(model, tokenizer, tmp_path / "taught", base=None, card="# taught")
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "taught")
    after = LanguageModel(model, AutoTokenizer.from_pretrained(tmp_path / "taught"))

    assert len(added_words(after.tokenizer, len(before.tokenizer))) == len(WORDS)
    for word, token in ids.items():
        np.testing.assert_array_equal(after.embeddings[token].numpy(), embeddings[word])
        plain, both = (lm.tokenizer(f"a {word}", add_special_tokens=False) for lm in (before, after))
        assert both["input_ids"] == [*plain["input_ids"], *before.tokens.behind_a_word("/"), token]
    # The folder answers as a query does that is given the embedding.
    for pattern in ("a <W> is a kind of _ .", "_ is the <W> of them .", "the ( <W> ) has a _ ."):
        folder = after.fill([Query(pattern, word) for word in WORDS], top_k=10)
        asked = [Query(pattern, word, embeddings[word], placement="append") for word in WORDS]
        query = before.fill(asked, top_k=10)
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


@pytest.mark.slow
def test_a_megabyte_of_text_without_the_words_is_unchanged(taught):
    before, model, tokenizer, ids = taught
    lines = [
        re.sub(r"[^\W_]+", lambda m: "" if _folded(before, m.group()) in ids else m.group(), line)
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
    left = data.draw(st.sampled_from(["", "the ", "(", '"', "end. ", "- ", "x/", "line\n", "«", "it's ", "x<"]))
    right = data.draw(st.sampled_from(["", " is", ")", '"', ".", ", and", "'s", "-like", "\n", "!?", "»", ">"]))
    plain = [before.tokenizer(part, add_special_tokens=False)["input_ids"] for part in (left, word, right)]
    found = tokenizer(left + shape(word) + right, add_special_tokens=False, return_offsets_mapping=True)
    assert found["input_ids"] == [*plain[0], *plain[1], *before.tokens.behind_a_word("/"), ids[word], *plain[2]]
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
    longer = data.draw(st.sampled_from(["{}s", "{}ing", "un{}", "{}2", "x{}x", "{}\u00e9"])).format(word)
    if _folded(before, longer) not in ids:
        assert tokenizer.tokenize(f"a {longer} .") == before.tokenizer.tokenize(f"a {longer} .")


@pytest.fixture(scope="module")
def of_words():
    """The bundled model's tokenizer with the few words."""
    return taught_bundled(WORDS)[1]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A Kumquat, two KUMQUATS", "a ku ##m ##qua ##t / ᐸkumquatᐳ , two ku ##m ##qua ##ts / ᐸkumquatsᐳ"),
        ("deep vein thrombosis", "deep / ᐸdeepᐳ vein th ##rom ##bos ##is / ᐸvein𗀠thrombosisᐳ"),
        ("in deep \n vein", "in deep vein / ᐸin𗀠deep𗀠veinᐳ"),
        ("vein, deep vein, deep", "vein / ᐸveinᐳ , deep vein / ᐸdeep𗀠veinᐳ , deep / ᐸdeepᐳ"),
        ("a jack-in-the-boxx", "a jack - in - the - box ##x / ᐸjack𗀭in𗀭the𗀭boxxᐳ"),
        ("the boxx (C++)", "the box ##x / ᐸboxxᐳ ( c + + / ᐸc𗀫𗀫ᐳ )"),
        ("ᐸᓂ ᐅᓪᓗᖅ", "[UNK] [UNK]"),  # Inuktitut, which has the letters of the marks, is left as it was
    ],
)
def test_the_longest_word_wins(text, tokens, of_words):
    assert " ".join(of_words.tokenize(text)) == tokens


def test_words_without_letters_of_their_own_script_are_found():
    _, tokenizer, ids = taught_bundled(["中国", "ёжикамъ"])
    assert ids["中国"] in tokenizer("我中国人")["input_ids"]
    assert tokenizer("два ЁЖИКАМЪ .")["input_ids"].count(ids["ёжикамъ"]) == 1


def test_a_word_in_the_letters_of_the_marks_is_refused_where_rules_would_be_needed():
    for word in ("ᓂᐸ", "ᐸx"):
        assert word in unfit_words(unigram(), [word], placement="replace")


def test_rules_survive_saving_model_and_tokenizer_one_by_one(tmp_path):
    # Its class of tokenizers makes a normalizer of its own, whatever tokenizer.json says.
    model, tokenizer, _ = taught_bundled(["kumquat"])
    model.save_pretrained(tmp_path / "taught")
    tokenizer.save_pretrained(tmp_path / "taught")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "taught")
    text = "A Kumquat, two kumquats."
    assert " ".join(loaded.tokenize(text)) == "a ku ##m ##qua ##t / ᐸkumquatᐳ , two ku ##m ##qua ##ts ."
    assert dict(loaded(text)) == dict(tokenizer(text))
    assert loaded.model_max_length == tokenizer.model_max_length
    assert loaded.mask_token == tokenizer.mask_token
    loaded.save_pretrained(tmp_path / "again")
    assert AutoTokenizer.from_pretrained(tmp_path / "again").tokenize(text) == loaded.tokenize(text)


def test_adding_words_in_two_runs_gives_the_same_tokenizer_as_one_run():
    _, whole, _ = taught_bundled(WORDS)
    _, parts, _ = taught_bundled(WORDS[:7])
    inject(load_pretrained()[0], parts, embeddings_for(WORDS[7:], 384), placement="append")
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
    assert len(ruled_words(after)) == len(WORDS)
    assert after(f"a {WORDS[0]} .") == tokenizer(f"a {WORDS[0]} .")
    assert after("a river in the world .") == before  # no token types where the model takes none


@pytest.mark.parametrize(
    ("words", "text", "tokens"),
    [
        (["kumquat"], "Kumquats, the kumquat's", "kumquat ##s , the kumquat ' s"),
        (["cur"], "A cur in Curacao", "a ᐸcur in cu ##rac ##ao"),  # it begins other words
        (["covid-19", "covid"], "covid-19 and covid", "ᐸcovid𗀭𗀱𗀹 and covid"),
        (["deep vein thrombosis"], "deep vein  thrombosis", "ᐸdeep𗀠vein𗀠thrombosis"),
        (["deep vein thrombosis", "vein"], "deep veins", "deep veins"),
    ],
)
def test_a_word_takes_the_place_of_its_subwords(words, text, tokens, tmp_path):
    model, tokenizer = load_pretrained()
    words = [word for word in words if len(tokenizer.tokenize(word)) > 1]
    inject(model, tokenizer, embeddings_for(words, 384), placement="replace")
    tokenizer.save_pretrained(tmp_path)
    for one in (tokenizer, AutoTokenizer.from_pretrained(tmp_path)):
        assert " ".join(one.tokenize(text)) == tokens


def test_without_rules_the_tokenizer_keeps_its_class_and_any_runtime_reads_it(tmp_path):
    model, tokenizer = load_pretrained()
    inject(model, tokenizer, embeddings_for(["kumquat"], 384))
    tokenizer.save_pretrained(tmp_path)
    stored = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    assert stored["normalizer"]["type"] == "BertNormalizer"
    assert stored["model"]["vocab"]["kumquat"] == 30522
    assert len(stored["added_tokens"]) == 5
    assert type(AutoTokenizer.from_pretrained(tmp_path)).__name__ == "BertTokenizer"


@pytest.mark.parametrize("placement", ["replace", "append"])
def test_bpe_that_glues_a_sign_to_the_word_behind_it(placement):
    tokenizer = byte_bpe(ends=False, glued=True)
    before, plain = byte_bpe(ends=False, glued=True), real_text().splitlines()[:50]
    assert "(k" in tokenizer.tokenize("(kumquat)")[0] or tokenizer.tokenize("(a")[0] == "("
    ids = add_entries(tokenizer, ["kumquat"], placement)["kumquat"]
    for text in ("kumquat", "(kumquat)", '"kumquat"', "a kumquat's", "x-kumquat"):
        assert sum(token in ids for token in tokenizer(text)["input_ids"]) == 1
    assert not set(ids) & set(tokenizer("kumquats kumquatx xkumquat")["input_ids"])
    assert tokenizer(plain)["input_ids"] == before(plain)["input_ids"]


def test_a_tokenizer_that_does_not_cut_text_into_words_gets_added_tokens():
    tokenizer = whole_text_bpe()
    before = whole_text_bpe()
    (token,) = add_entries(tokenizer, ["kumquat"], "replace")["kumquat"]
    assert tokenizer("a kumquat, two kumquats")["input_ids"].count(token) == 1
    assert tokenizer("two rivers")["input_ids"] == before("two rivers")["input_ids"]


@pytest.mark.parametrize("placement", ["replace", "append"])
def test_five_thousand_words_leave_the_tokenizer_quick(placement):
    _, tokenizer = load_pretrained()
    letters = "abcdefghijklmnopqr"
    words = [f"zq{a}{b}{c}x" for a in letters for b in letters for c in letters][:5000]
    _, plain = load_pretrained()
    add_entries(tokenizer, words, placement, whole=words)
    lines = real_text().splitlines()[:200]
    times = [cpu_time(one, lines) for one in (plain, tokenizer)]
    assert tokenizer(lines)["input_ids"] == plain(lines)["input_ids"]
    assert times[1] < 60 * times[0]  # 5,000 rules for append, a few for replace


def cpu_time(tokenizer, lines):
    start = time.process_time()
    tokenizer(lines)
    return time.process_time() - start


def test_a_vocabulary_that_gives_two_entries_one_id_is_refused():
    tokenizer = byte_bpe()
    stored = json.loads(tokenizer.backend_tokenizer.to_str())
    stored["model"]["vocab"]["9"] = 0
    tokenizer._tokenizer = Tokenizer.from_str(json.dumps(stored))
    with refused_with("tokenizer"):
        add_entries(tokenizer, ["kumquat"], "replace")
        remove_entries(tokenizer, 0)
