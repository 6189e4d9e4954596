"""Training on real text with the bundled model: it learns, resumes, infers and says what it used."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from rarewords import InputError, Query, WordVectors, approximate
from rarewords.mimic.batches import Reader, table_of_sentences
from rarewords.mimic.measure import DevMeasure
from rarewords.mimic.mimicking import AttentiveMimicking
from rarewords.mimic.ngrams import NgramTable
from rarewords.mimic.readings import KnownWords, lengthened
from rarewords.mimic.settings import preset
from rarewords.mimic.train import EpochPlan, TrainingWords, loss_of
from rarewords.probe.dataset import Dataset
from rarewords.probe.evaluate import EvalSettings, evaluate
from tests.cli.run import rarewords, refused

SETTINGS = preset("am+context", min_count=20, epochs=2, held_out=0.1)


@pytest.fixture(scope="session")
def mimic(lm, store):
    return AttentiveMimicking.fit(lm, store, None, SETTINGS)


def test_training_lowers_the_loss_and_finds_unseen_words(lm, mimic):
    first, last = mimic.history[0], mimic.history[-1]
    assert last.loss < first.loss
    # For words it never saw, it does better than one who answers every time with the mean embedding.
    matrix = lm.embeddings[list(lm.whole_words.values())]
    blind = torch.nn.functional.cosine_similarity(matrix, matrix.mean(0)[None]).mean()
    assert last.held_out_cosine > blind + 0.05
    assert 0 < last.context_share < 1


def test_resume_after_an_interruption_gives_the_same_weights(lm, store, mimic, tmp_path):
    class StopHereError(Exception):
        pass

    def stop(report, _):
        if report.epoch == 1:
            raise StopHereError

    with pytest.raises(StopHereError):
        AttentiveMimicking.fit(lm, store, None, SETTINGS, checkpoint=tmp_path, after_epoch=stop)
    resumed = AttentiveMimicking.fit(lm, store, None, SETTINGS, checkpoint=tmp_path)
    assert [report.epoch for report in resumed.history] == [1, 2]
    for name, value in mimic.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name
    with pytest.raises(InputError, match="other settings"):
        AttentiveMimicking.fit(lm, store, None, preset("am", min_count=20), checkpoint=tmp_path)


def test_saved_and_loaded_it_infers_the_same_and_packed_nearly_so(lm, store, mimic, tmp_path):
    words = ["kumquat", "astronomical", "photosynthesis", "unicycles"]
    before = mimic.infer_words(words, store)
    mimic.save_pretrained(tmp_path / "full")
    mimic.save_pretrained(tmp_path / "packed", packed=True)
    full = AttentiveMimicking.from_pretrained(tmp_path / "full", lm).infer_words(words, store)
    np.testing.assert_array_equal(full.vectors.matrix, before.vectors.matrix)
    packed = AttentiveMimicking.from_pretrained(tmp_path / "packed", lm).infer_words(words, store)
    cosine = (packed.vectors.matrix * full.vectors.matrix).sum(1) / (
        np.linalg.norm(packed.vectors.matrix, axis=1) * np.linalg.norm(full.vectors.matrix, axis=1)
    )
    assert cosine.min() > 0.99
    sizes = [sum(p.stat().st_size for p in (tmp_path / name).iterdir()) for name in ("full", "packed")]
    assert sizes[1] < 0.35 * sizes[0]


def test_one_word_from_sentences_equals_the_same_word_from_the_store(mimic, store):
    word = next(w for w in store.counts(3)[0] if store.count(w) == 3)
    contexts = store.contexts(word)
    one = mimic.infer(word, [context.sentence for context in contexts])
    many = mimic.infer_words([word], store)
    if all(len(context.left) < 25 and len(context.right) < 25 for context in contexts):
        np.testing.assert_allclose(one.vector, many.vectors[word], atol=1e-5)
    assert abs(sum(one.weights) - 1) < 1e-5
    assert len(one.weights) == len(contexts)


def test_a_word_uses_what_it_has_and_is_refused_by_name_when_it_has_nothing(mimic, store):
    done = mimic.infer_words(["qzxqzx", "walkingly", "astronomical"], store)
    assert list(done.refused) == ["qzxqzx"]
    assert done.contexts.tolist()[0] == 0
    assert done.context_share[0] == 0
    formless = mimic.infer("qzxqzx", ["the qzxqzx is a small green fruit from china"])
    assert formless.context_share == 1.0
    with pytest.raises(InputError, match="'qzxqzx': no context"):
        mimic.infer("qzxqzx")
    with pytest.raises(InputError, match="does not contain the word 'kumquat'"):
        mimic.infer("kumquat", ["a sentence about limes"])


def test_vectors_are_usable_in_the_model(lm, mimic, store):
    vectors = mimic.infer_words(["kumquat"], store).vectors
    answers = lm.fill([Query("a <W> is a kind of _ .", "kumquat", vectors["kumquat"])], top_k=10)
    assert len(set(answers.words(0))) == 10


def test_targets_of_another_model_and_too_few_words_are_refused(lm, store):
    wrong = WordVectors(["kumquat"], np.ones((1, 768), np.float32))
    with pytest.raises(InputError, match="size 768"):
        AttentiveMimicking.fit(lm, store, wrong, SETTINGS)
    other = WordVectors(["kumquat"], np.ones((1, 384), np.float32), {"fingerprint": "0123"})
    with pytest.raises(InputError, match="made for another model"):
        AttentiveMimicking.fit(lm, store, other, SETTINGS)
    with pytest.raises(InputError, match="have a vector to mimic"):
        AttentiveMimicking.fit(lm, store, None, preset("am", min_count=10**9))


def test_the_commands_train_infer_and_name_mistakes(store, tmp_path):
    folder = tmp_path / "mimic"
    options = ["--corpus", store.path, "--out", folder, "--min-count", 60, "--epochs", 1, "--contexts", 8]
    assert "belongs to the presets am" in refused("-q", "mimic", "train", *options)
    assert "no mimic preset 'am+'" in refused("-q", "mimic", "train", *options, "--preset", "am+")
    options += ["--preset", "am+context"]
    assert "give --targets" in refused("-q", "mimic", "train", *options)
    done = rarewords("-q", "mimic", "train", *options, "--no-ota", "--scale", 1.2)
    assert "trained, epoch 1" in done.stdout
    assert not (tmp_path / "mimic.training").exists()
    (tmp_path / "words.txt").write_text("kumquat\nqzxqzx\n")
    assert "belongs to the preset readings" in refused(
        "-q", "mimic", "train", *options[:3], tmp_path / "y", *options[4:], "--no-ota", "--split"
    )
    out = tmp_path / "v.safetensors"
    infer = ["mimic", "infer", "--mimic", folder, "--words", tmp_path / "words.txt", "--corpus", store.path]
    done = rarewords("-q", *infer, "--out", out)
    assert "1 words, 1 refused" in done.stdout
    assert "qzxqzx: no context" in done.stderr
    assert list(WordVectors.load(out)) == ["kumquat"]
    assert WordVectors.load(out).settings["mimic"]["scale"] == 1.2
    short = WordVectors.load(out)["kumquat"]
    rarewords("-q", *infer, "--out", out, "--scale", 1.5)
    assert not np.allclose(short, WordVectors.load(out)["kumquat"], atol=0.01)
    (tmp_path / "words.txt").write_text("city\n")  # it has contexts
    found = []
    for changes in ([], ["--pieces", 0.6], ["--pieces", 0]):
        rarewords("-q", *infer, "--out", out, *changes)
        found.append(np.array(WordVectors.load(out)["city"]))
    assert not np.allclose(found[0], found[1], atol=0.01)
    assert np.allclose(found[0], found[2], atol=1e-5)
    assert "is not a mimic model" in refused(
        "-q", "mimic", "infer", "--mimic", tmp_path, *infer[4:], "--out", out
    )
    assert "not a store" in refused(
        "-q", "mimic", "train", "--preset", "am", "--corpus", tmp_path, "--out", tmp_path / "x", "--no-ota"
    )


def test_the_command_trains_over_readings_without_more_options(store, tmp_path):
    out = tmp_path / "readings"
    options = ["--preset", "am+readings", "--min-count", 300, "--epochs", 1, "--contexts", 2]
    done = rarewords("-q", "mimic", "train", "--corpus", store.path, "--out", out, *options)
    assert "trained, epoch 1" in done.stdout


def test_a_killed_training_goes_on_and_ends_the_same(store, tmp_path):
    common = ["--corpus", store.path, "--min-count", 40, "--epochs", 4, "--contexts", 8, "--no-ota"]
    common += ["--preset", "am+context"]
    killed = tmp_path / "killed"
    command = [
        sys.executable,
        "-m",
        "rarewords",
        "-q",
        "mimic",
        "train",
        *map(str, common),
        "--out",
        str(killed),
    ]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}  # as this process: sums differ with their order
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=one_thread)
    waited = time.monotonic()
    while not (tmp_path / "killed.training" / "checkpoint.json").exists():
        assert process.poll() is None
        assert time.monotonic() - waited < 200
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not killed.exists()
    rarewords("-q", "mimic", "train", *common, "--out", killed)
    rarewords("-q", "mimic", "train", *common, "--out", tmp_path / "whole")
    assert (killed / "model.safetensors").read_bytes() == (
        tmp_path / "whole" / "model.safetensors"
    ).read_bytes()


def test_the_papers_model_over_readings(lm, store, tmp_path):
    changes = {"min_count": 100, "epochs": 3, "held_out": 0.1, "contexts_max": 2}
    mimic = AttentiveMimicking.fit(lm, store, None, preset("am+readings", **changes))
    assert mimic.history[-1].loss < mimic.history[0].loss
    sentences = ["She peeled a blimpet and ate it with sugar.", "Fresh blimpet juice is sold at the market."]
    learned = mimic.infer("blimpet", sentences)
    assert sum(learned.weights) == pytest.approx(1, abs=1e-4)
    assert 0 < learned.context_share <= 1
    mimic.save_pretrained(tmp_path / "saved")
    loaded = AttentiveMimicking.from_pretrained(tmp_path / "saved", lm)
    assert np.allclose(loaded.infer("blimpet", sentences).vector, learned.vector, atol=1e-5)
    many = mimic.infer_words(["city", "qzxqzx"], store, limit=2)
    assert many.vectors.words == ["city"]
    targets = WordVectors(["kumquat"], np.ones((1, 384), np.float32))
    with pytest.raises(InputError, match="leave the targets out"):
        AttentiveMimicking.fit(lm, store, targets, preset("am+readings"))
    with pytest.raises(InputError, match="reading needs centre"):
        preset("am+readings", centre=False)


def test_vectors_are_brought_to_a_length_and_keep_their_direction(lm, mimic, store):
    words = ["city", "kumquat", "televission"]
    known = KnownWords.of(lm)
    plain = torch.from_numpy(mimic.infer_words(words, store).vectors.matrix)
    scaled = mimic.placed(scale=1.4)
    longer = scaled.infer_words(words, store)
    matrix = torch.from_numpy(longer.vectors.matrix)
    assert torch.allclose((matrix - known.mean).norm(dim=1), torch.tensor(1.4 * known.spread), rtol=1e-4)
    assert torch.allclose(known.directions(matrix), known.directions(plain), atol=1e-4)
    assert longer.vectors.settings["mimic"]["scale"] == 1.4
    again = lengthened(lm, mimic.infer_words(words, store).vectors, 1.4)
    assert np.allclose(again.matrix, longer.vectors.matrix, atol=1e-5)
    sentence = "The city is old."
    assert np.allclose(
        scaled.placed(scale=0).infer("city", [sentence]).vector, mimic.infer("city", [sentence]).vector
    )
    with pytest.raises(InputError, match="scale must be at least 0"):
        mimic.placed(scale=-1)


def test_what_the_pieces_say_is_added_at_the_same_length(lm, mimic, store):
    words = ["city", "kumquat", "televission"]
    known = KnownWords.of(lm)
    plain = mimic.infer_words(words, store)
    ready = WordVectors(words, np.random.default_rng(0).normal(size=(3, lm.dim)).astype(np.float32))
    mixed = mimic.placed(scale=1.5, pieces=0.6, pieces_alone=0.2)
    mixed.placing.approximations = ready
    found = mixed.infer_words(words, store)
    assert (found.contexts == plain.contexts).all()
    assert 0 in found.contexts.tolist()
    weights = torch.tensor([0.6 if count else 0.2 for count in found.contexts])
    model, pieces = (known.directions(torch.from_numpy(one.matrix)) for one in (plain.vectors, ready))
    expected = known.at(model + weights[:, None] * pieces, 1.5)
    assert torch.allclose(torch.from_numpy(found.vectors.matrix), expected, atol=1e-5)
    made = mimic.placed(scale=1.0, pieces=1.0).infer("kumquat", ["A kumquat is a fruit."])
    own = torch.from_numpy(approximate(lm, ["kumquat"]).vectors["kumquat"])[None]
    near = known.directions(own) @ known.directions(torch.from_numpy(made.vector)[None]).T
    far = known.directions(own) @ known.directions(torch.from_numpy(plain.vectors["kumquat"])[None]).T
    assert near > far + 0.3  # without approximations made beforehand they are made
    with pytest.raises(InputError, match="set a scale"):
        preset("am+context", pieces=0.5)
    with pytest.raises(InputError, match="loss must be one of"):
        preset("am+context", loss="absolute")


def test_a_cosine_loss_looks_at_directions_from_the_mean_alone(lm, store):
    rng = np.random.default_rng(0)
    vectors, targets, origin = (
        torch.from_numpy(rng.normal(size=(n, 6)).astype(np.float32)) for n in (3, 3, 1)
    )
    cosine = preset("am", loss="cosine")
    expected = 1 - np.mean(
        [
            float((v - origin[0]) @ (t - origin[0]) / ((v - origin[0]).norm() * (t - origin[0]).norm()))
            for v, t in zip(vectors, targets, strict=True)
        ]
    )
    assert loss_of(vectors, targets, cosine, origin[0]) == pytest.approx(expected, abs=1e-5)
    farther = origin + 3 * (vectors - origin)
    assert loss_of(farther, targets, cosine, origin[0]) == pytest.approx(expected, abs=1e-5)
    squared = loss_of(vectors, targets, preset("am"), origin[0])
    assert squared == pytest.approx(float((vectors - targets).pow(2).mean()), rel=1e-5)
    learned = AttentiveMimicking.fit(lm, store, None, preset("am+pieces", min_count=60, epochs=3))
    assert learned.history[-1].loss < learned.history[0].loss < 1.05
    assert learned.settings.scale == 2.0


def test_dev_is_measured_between_epochs(lm, store):
    everything = Dataset.load()
    few = Dataset(tuple(entry for entry in everything if entry.subset == "dev")[::120])
    measure = DevMeasure(lm, store, every=2, dataset=few)
    AttentiveMimicking.fit(lm, store, None, preset("am", min_count=80, epochs=2), after_epoch=measure)
    assert [found["epoch"] for found in measure.history] == [0, 2]
    pieces = evaluate(lm, few, EvalSettings(subset="dev"))
    assert measure.history[0]["mrr"] == pytest.approx(pieces.mrr, abs=1e-4)
    assert 0 < measure.history[1]["mrr"] < 1


def test_dropped_ngrams_leave_every_word_some():
    words = ["abacus", "abbey", "cab", "dormitory", "a"] * 40
    table = NgramTable.from_words(words, threshold=1)
    reader = Reader(table_of_sentences([]), torch.zeros(1, 4))
    data = TrainingWords(words, np.ones(len(words), np.int64), torch.zeros(200, 4), table.bags(words), reader)
    settings = preset("am", context=False, ngram_dropout=0.6, batch_size=200)
    plan = EpochPlan(data, settings, np.arange(200), epoch=0)
    batch, _ = plan.batch(0)
    starts = batch.gram_starts.tolist()
    sizes = np.diff([*starts, len(batch.grams)])
    assert sizes.min() >= 1
    share = len(batch.grams) / len(table.bags(words).numbers)
    assert 0.38 < share < 0.55  # 40 % are kept, and one of words that would have lost all
    again = EpochPlan(data, settings, np.arange(200), epoch=0).batch(0)[0]
    assert torch.equal(again.grams, batch.grams)
    assert not torch.equal(EpochPlan(data, settings, np.arange(200), epoch=1).batch(0)[0].grams, batch.grams)
