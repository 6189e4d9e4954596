"""Attentive mimicking on real text with the bundled model: it learns, resumes, infers, saves and loads."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from rarewords import Corpus, WordEmbeddings
from rarewords.learner.known_words import KnownWords
from rarewords.mimic import attentive
from rarewords.mimic.attentive import AttentiveMimicking
from rarewords.mimic.batches import PreparedContexts
from rarewords.mimic.model import NgramTable
from rarewords.mimic.settings import preset
from rarewords.mimic.train import train
from tests.errors import refused_with
from training.pack_mimic import pack_folder

SETTINGS = preset("am+context", min_count=20, epochs=2, held_out=0.1)


@pytest.fixture(scope="module")
def mimic(lm, corpus):
    return AttentiveMimicking.fit(lm, corpus, None, SETTINGS)


def test_training_lowers_the_loss_and_predicts_held_out_words(lm, mimic):
    first, last = mimic.history
    assert last.loss < first.loss
    # Better than predicting the mean embedding every time.
    matrix = lm.embeddings[list(lm.whole_words.values())]
    blind = torch.nn.functional.cosine_similarity(matrix, matrix.mean(0)[None]).mean()
    assert last.held_out_cosine > blind + 0.03
    assert 0 < last.context_share < 1


def test_an_interrupted_training_ends_with_the_same_weights_and_history(lm, corpus, mimic, tmp_path):
    def stop(report, _):
        raise KeyboardInterrupt(report.epoch)

    with pytest.raises(KeyboardInterrupt):
        AttentiveMimicking.fit(lm, corpus, None, SETTINGS, work=tmp_path, after_epoch=stop)
    (checkpoint,) = tmp_path.iterdir()
    begun, epochs = checkpoint.stat().st_mtime_ns, []
    options = {"work": tmp_path, "after_epoch": lambda report, _: epochs.append(report.epoch)}
    resumed = AttentiveMimicking.fit(lm, corpus, None, SETTINGS, **options)
    assert epochs == [2]  # the first was not trained again
    assert checkpoint.stat().st_mtime_ns > begun
    state = resumed.model.state_dict()
    assert set(state) == set(mimic.model.state_dict())
    for name, value in mimic.model.state_dict().items():
        assert torch.equal(value, state[name]), name
    histories = [[replace(one, examples_per_second=0) for one in made.history] for made in (mimic, resumed)]
    assert histories[0] == histories[1]
    AttentiveMimicking.fit(lm, corpus, None, replace(SETTINGS, seed=1, epochs=1), work=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2  # another training has another checkpoint


def test_a_sentence_is_read_alike_from_text_and_from_a_corpus(mimic, tmp_path):
    long = [
        " ".join(f"the {one} city, {year} (near it)" for year in range(1960, 1975)) for one in ("old", "new", "red")
    ]
    sentences = [
        "A kumquat is a small fruit, and a kumquat tree is a small tree.",
        " kumquat ".join(long),
        "The Kumquat grows in China; it is 4 metres tall!",
        "Dr. Green's kumquat-like fruit is not a kumquat",
    ]
    (tmp_path / "text.txt").write_text("\n".join(sentences))
    corpus = Corpus.build([tmp_path / "text.txt"], tmp_path / "corpus", workers=1)
    many = mimic.learn_words(["kumquat"], corpus)
    assert many.contexts.tolist() == [5]  # of the long sentence two, with different windows
    one = mimic.learn("kumquat", sentences)
    np.testing.assert_allclose(one.embedding, many.embeddings["kumquat"], atol=1e-6)
    assert one.context_share == pytest.approx(float(many.context_share[0]), abs=1e-6)
    again = mimic.learn("kumquat", [*sentences, sentences[1], "zzyzx kumquat"])
    np.testing.assert_allclose(again.embedding, one.embedding, atol=1e-6)
    assert again.weights == pytest.approx(
        [one.weights[0], one.weights[1] / 2, *one.weights[2:], one.weights[1] / 2, 0], abs=1e-6
    )
    assert sum(again.weights) == pytest.approx(1, abs=1e-6)
    last = mimic.learn("kumquat", [sentences[1].rsplit(" kumquat", 1)[0]])
    assert not np.allclose(last.embedding, mimic.learn("kumquat", [sentences[1]]).embedding, atol=1e-4)


def test_punctuation_and_numbers_are_words_of_a_context(mimic):
    plain, marked = ["a kumquat or lime"], ["a kumquat (1984), or lime"]
    assert not np.allclose(mimic.learn("kumquat", plain).embedding, mimic.learn("kumquat", marked).embedding)


def test_saved_and_loaded_it_infers_the_same_and_packed_nearly_so(lm, corpus, tmp_path):
    rng = np.random.default_rng(0)
    targets = WordEmbeddings(["unicycles", "kumquats"], rng.normal(size=(2, lm.dim)), {"fingerprint": lm.fingerprint})
    mimic = AttentiveMimicking.fit(lm, corpus, targets, preset("am+context", min_count=100, epochs=1))
    words = ["kumquat", "astronomical", "photosynthesis", "unicycles"]
    before = mimic.learn_words(words, corpus).embeddings.matrix
    folders = tmp_path / "full", tmp_path / "packed"
    mimic.save_pretrained(folders[0])
    pack_folder(*folders)
    full, packed = (AttentiveMimicking.from_pretrained(folder, lm) for folder in folders)
    np.testing.assert_array_equal(full.learn_words(words, corpus).embeddings.matrix, before)
    assert (full.key, full.history, full.settings) == (mimic.key, mimic.history, mimic.settings)
    assert full.targets.words == targets.words
    assert packed.key != full.key != replace(full, settings=replace(full.settings, scale=1.5)).key
    near = packed.learn_words(words, corpus).embeddings.matrix
    lengths = np.linalg.norm(near, axis=1) * np.linalg.norm(before, axis=1)
    assert ((near * before).sum(1) / lengths).min() > 0.99
    sizes = [sum(path.stat().st_size for path in folder.iterdir()) for folder in folders]
    assert sizes[1] < 0.35 * sizes[0]


def test_a_model_of_no_targets_at_all_can_be_loaded(lm, corpus, tmp_path):
    none = WordEmbeddings([], np.zeros((0, lm.dim), np.float32))
    AttentiveMimicking.fit(lm, corpus, none, preset("am", min_count=300, epochs=1)).save_pretrained(tmp_path / "mimic")
    assert len(AttentiveMimicking.from_pretrained(tmp_path / "mimic", lm).targets) == 0


def test_a_word_uses_what_it_has_and_is_refused_if_it_has_nothing(mimic, corpus):
    done = mimic.learn_words(["qzxqzx", "walkingly", "astronomical"], corpus)
    assert list(done.skipped) == ["qzxqzx"]
    assert (done.contexts[0], done.context_share[0]) == (0, 0)
    with refused_with("mimic"):
        mimic.learn("qzxqzx")
    assert 0 < mimic.learn("qzxqzx", ["the qzxqzx is a small green fruit"]).context_share < 1
    with refused_with("word-not-found"):
        mimic.learn("kumquat", ["a sentence about limes"])


def test_a_capital_changes_nothing_for_a_model_that_lower_cases(mimic, corpus):
    small, capital = (mimic.learn_words([word], corpus) for word in ("city", "City"))
    assert list(capital.embeddings.words) == ["City"]
    assert capital.contexts.tolist() == small.contexts.tolist()
    np.testing.assert_array_equal(capital.embeddings.matrix, small.embeddings.matrix)
    prepared = PreparedContexts(corpus, ["River", "City"])
    again = mimic.learn_words(["City"], prepared).embeddings.matrix
    np.testing.assert_allclose(again, small.embeddings.matrix, atol=1e-6)


def test_without_form_a_word_without_contexts_gets_the_zero_embedding(lm, corpus):
    mimic = AttentiveMimicking.fit(lm, corpus, None, preset("am", form=False, min_count=300, epochs=1))
    done = mimic.learn_words(["walkingly", "city"], corpus)
    assert done.skipped == {}
    assert np.abs(done.embeddings["walkingly"]).max() == 0 < np.abs(done.embeddings["city"]).max()
    assert mimic.learn("walkingly").embedding.tolist() == [0] * lm.dim


def test_ngrams_are_counted_over_all_frequent_words_of_the_text(lm, corpus):
    settings = preset("am", context=False, min_count=5, epochs=1, copies_max=1)
    frequent, _ = corpus.counts(5)
    mimic = AttentiveMimicking.fit(lm, corpus, None, settings, prepared=PreparedContexts(corpus, frequent, 1))
    learned = [word for word in frequent if word in lm.whole_words]
    assert mimic.table.known == NgramTable.from_words(frequent, settings).known
    # Words of several subwords have no target here; they are not learned, but counted.
    assert len(mimic.table) > len(NgramTable.from_words(learned, settings))


def test_frequent_words_mimic_their_embedding_or_their_approximation(lm, corpus, monkeypatch):
    counts = dict(zip(*corpus.counts(), strict=True))
    several = [word for word in counts if word not in lm.whole_words and word.isalpha()]
    often, seldom = max(several, key=counts.__getitem__), min(several, key=counts.__getitem__)
    least = int(counts[often])
    assert counts[seldom] < least
    matrix = np.random.default_rng(0).normal(size=(2, lm.dim)).astype(np.float32)
    seen = []

    def watch(data, settings, **options):
        seen.append(data)
        return train(data, settings, **options)

    monkeypatch.setattr(attentive, "train", watch)
    settings = preset("am", context=False, min_count=least, epochs=1)
    prepared = PreparedContexts(corpus, corpus.counts(least)[0], 1)
    AttentiveMimicking.fit(lm, corpus, WordEmbeddings([often, seldom], matrix), settings, prepared=prepared)
    targets, learned = seen[0].targets, [word for word in corpus.counts(least)[0] if word in lm.whole_words]
    assert seen[0].counts.min() >= least
    assert len(targets) == len(learned) + 1  # of the two approximated words, the frequent one
    own = {tuple(row) for row in lm.embeddings[[lm.whole_words[word] for word in learned]].tolist()}
    assert {tuple(row) for row in targets.tolist()} == own | {tuple(matrix[0].tolist())}


def test_prepared_contexts_give_the_same(corpus, mimic):
    words = ["city", "kumquat", "astronomical"]
    prepared = PreparedContexts(corpus, ["river", *words], 5)
    found = mimic.learn_words(words, prepared).embeddings.matrix
    np.testing.assert_allclose(found, mimic.learn_words(words, corpus, contexts=5).embeddings.matrix, atol=1e-6)
    assert not np.allclose(found, mimic.learn_words(words, corpus).embeddings.matrix, atol=1e-3)


def test_embeddings_are_brought_to_a_length_and_keep_their_direction(lm, mimic, corpus):
    words, known = ["city", "kumquat", "televission"], KnownWords.of(lm)
    plain = mimic.learn_words(words, corpus).embeddings
    scaled = replace(mimic, settings=replace(mimic.settings, scale=1.4))
    longer = scaled.learn_words(words, corpus).embeddings
    matrix = torch.from_numpy(longer.matrix)
    assert torch.allclose((matrix - known.mean).norm(dim=1), torch.tensor(1.4 * known.spread), rtol=1e-4)
    assert torch.allclose(known.directions(matrix), known.directions(torch.from_numpy(plain.matrix)), atol=1e-4)
    assert longer.settings["mimic"]["scale"] == 1.4


def test_targets_of_another_model_and_too_few_words_are_refused(lm, corpus):
    wrong = WordEmbeddings(["kumquat"], np.ones((1, 768), np.float32))
    with refused_with("model-mismatch"):
        AttentiveMimicking.fit(lm, corpus, wrong, SETTINGS)
    other = WordEmbeddings(["kumquat"], np.ones((1, 384), np.float32), {"fingerprint": "0123"})
    with refused_with("model-mismatch"):
        AttentiveMimicking.fit(lm, corpus, other, SETTINGS)
    with refused_with("mimic"):
        AttentiveMimicking.fit(lm, corpus, None, preset("am", min_count=10**9))
