"""The paper's rules, on real WordNet and real counts."""

import pytest

from rarewords.wnlampro import builder
from rarewords.wnlampro.builder import DEV_SHARE, Builder, corrupt
from rarewords.wnlampro.dataset import RELATIONS
from tests.errors import refused_with

CORRUPTIONS = 60


def build(*given, **options):
    """Build the data set with few corruptions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "CORRUPTIONS", CORRUPTIONS)
        return Builder(*given, **options).dataset()


@pytest.fixture(scope="module")
def built(wordnet, counts, lm):
    return build(wordnet, counts, lm.whole_words)


@pytest.fixture(scope="module")
def some(counts):
    """Words with a and b: enough to build from several times."""
    return {word: count for word, count in counts.items() if word < "c"}


def texts(dataset, word, relation):
    return next(([t.text for t in e.targets] for e in dataset if (e.word.text, e.relation) == (word, relation)), None)


def distances_up(synset):
    """Every hypernym with its shortest distance, by NLTK's own search."""
    shortest = {}
    for above, distance in synset.hypernym_distances():  # a set: an ancestor may be there more than once
        if distance:
            shortest[above] = min(distance, shortest.get(above, distance))
    return shortest


@pytest.mark.slow
def test_antonyms_are_of_the_first_sense(built, wordnet):
    assert texts(built, "old", "antonym") == ["young"]  # new is the antonym of its second sense
    for entry in built:
        if entry.relation == "antonym":
            first = wordnet.lemmas(entry.word.text, "a")[0]
            assert {t.text for t in entry.targets} <= {a.name().lower() for a in first.antonyms()}


@pytest.mark.slow
def test_hypernyms_by_another_way_of_searching(built, wordnet, counts, lm):
    checked = 0
    for word in ("book", "dog", "city", "train", "music", "war", "river", "car"):
        expected = set()
        for synset in wordnet.synsets(word, "n")[:2]:
            for above, distance in distances_up(synset).items():
                if distance <= 3 and above.min_depth() >= 6:
                    expected |= {name.lower() for name in above.lemma_names()}
        expected &= lm.whole_words.keys()
        ordered = sorted(expected, key=lambda w: (-counts[w], w))[:20]
        assert texts(built, word, "hypernym") == (ordered if len(ordered) >= 3 else None)
        checked += len(ordered) >= 3
    assert checked >= 3


def test_keywords_occur_in_the_text_and_have_letters_dots_and_hyphens_only(wordnet, lm):
    counts = {"dog": 20, "e-mail": 1, "guitar": 0, "1860s": 50, "piano": 3}
    assert set(counts) <= set(wordnet.all_lemma_names("n"))
    words = {e.word.text for e in Builder(wordnet, counts, lm.whole_words).dataset()}
    assert words == {"dog", "e-mail", "piano"}


@pytest.mark.slow
def test_cohyponyms_by_another_way_of_searching(built, wordnet, counts, lm):
    many = 0
    for word in ("car", "dog", "book", "guitar"):
        below = {
            name.lower()
            for synset in wordnet.synsets(word, "n")[:2]
            for above, distance in distances_up(synset).items()
            if distance <= 2 and above.min_depth() >= 6
            for hyponym in above.closure(lambda one: one.hyponyms(), depth=4)
            for name in hyponym.lemma_names()
        }
        expected = sorted((below - {word}) & lm.whole_words.keys(), key=lambda w: (-counts[w], w))
        assert texts(built, word, "cohyponym") == (expected[:50] if len(expected) >= 10 else None)
        many += len(expected) > 50
    assert many  # of some word only the most frequent are kept


@pytest.mark.slow
def test_targets_are_ordered_by_corpus_frequency(built, counts):
    for entry in built:
        numbers = [t.count for t in entry.targets]
        assert numbers == sorted(numbers, reverse=True)
        assert all(t.count == counts[t.text] for t in entry.targets)


@pytest.mark.slow
def test_corruptions_are_one_step_away_and_no_words(built, wordnet, counts, lm):
    corrupted = [e for e in built if e.relation == "corruption"]
    assert len(corrupted) == 60
    for entry in corrupted:
        (target,) = entry.targets
        assert counts[target.text] >= 20
        assert entry.word.text not in lm.whole_words
        assert not wordnet.synsets(entry.word.text)
        assert one_step(target.text, entry.word.text)


def one_step(word, changed):
    letters = "abcdefghijklmnopqrstuvwxyz"
    near = {word[:i] + word[i + 1 :] for i in range(len(word))}
    near |= {word[:i] + c + word[i:] for i in range(len(word) + 1) for c in letters}
    near |= {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)}
    return changed in near


def test_corrupt_by_hand():
    assert corrupt("pinnacle", 1 + 3 * 2) == "pinacle"
    assert corrupt("simulation", 2 + 3 * 3) == "simluation"
    assert corrupt("chemistry", 0 + 3 * (3 + 10 * 15)) == "chepmistry"


def test_rebuild_gives_the_same_bytes_whatever_the_order(wordnet, some, lm, tmp_path):
    turned = dict(sorted(some.items(), key=lambda item: item[0][::-1]))
    orders = {"a": (some, lm.whole_words), "b": (turned, sorted(lm.whole_words, reverse=True))}
    for name, given in orders.items():
        build(wordnet, *given).save(tmp_path / f"{name}.tsv.gz")
    assert (tmp_path / "a.tsv.gz").read_bytes() == (tmp_path / "b.tsv.gz").read_bytes()


def test_the_seed_decides_split_and_corruptions(wordnet, some, lm):
    both = [build(wordnet, some, lm.whole_words, seed=seed) for seed in (0, 1)]
    dev = [{e.word.text for e in d if e.subset == "dev" and e.relation == "hypernym"} for d in both]
    assert dev[0] != dev[1]
    assert len(dev[0]) == len(dev[1]) > 0
    corrupted = [{e.word.text for e in d if e.relation == "corruption"} for d in both]
    assert corrupted[0] != corrupted[1]


@pytest.mark.slow
def test_a_tenth_of_each_relation_is_dev(built):
    assert DEV_SHARE == 0.1
    for relation in RELATIONS:
        subsets = [e.subset for e in built if e.relation == relation]
        assert subsets.count("dev") == round(0.1 * len(subsets)) > 0


def test_bad_counts(wordnet, lm):
    with refused_with("wnlampro"):
        Builder(wordnet, {"ДОМ": 3}, lm.whole_words)
