"""The sample of a text: what is known reads as in the text, the rest alike, and counts are those of the text."""

import numpy as np

from experiments.mimicking.sample import UNKNOWN, SampledCorpus, _plain
from experiments.mimicking.study import first_contexts
from rarewords.corpus.text import word_hashes, words_of
from rarewords.mimic.batches import PreparedContexts


def test_known_words_and_marks_stay_and_all_others_look_alike():
    known = np.unique(word_hashes(["the", "dog", "'s", "9,000", "red-tailed", "u.s.", "don't", ","]))
    text = "The dog's 9,000 red-tailed “monkeys”, and the U.S. Don't!\nThe blimpets' the."
    plain = _plain(text, known)
    assert plain.splitlines()[0] == f"the dog's 9,000 red-tailed {UNKNOWN} , {UNKNOWN} the u.s. don't !"
    same = [one if word_hashes([one])[0] in known else UNKNOWN for one in words_of(text)]
    assert words_of(plain) == same


def test_counts_are_those_of_the_whole_text(tmp_path):
    (tmp_path / "text.txt").write_text("a dog\na cat\n", "utf-8")
    (tmp_path / "counts.tsv").write_text("a\t900\t1\ndog\t70\t1\nemu\t8\t0\ncat\t3\t1\n", "utf-8")
    corpus = SampledCorpus.make(tmp_path, tmp_path / "corpus")
    words, counts = corpus.without(["dog"]).counts(7)
    assert (words, counts.tolist()) == (["a", "emu"], [900, 8])
    assert corpus.counts(7)[0] == ["a", "dog", "emu"]
    assert corpus.count("a") == 2


def test_the_first_contexts_are_those_of_a_smaller_limit(corpus):
    words = corpus.counts(5)[0][:40]
    few, one = first_contexts(PreparedContexts(corpus, words), 3), PreparedContexts(corpus, words, 3)
    assert few.starts.tolist() == one.starts.tolist()

    def read(prepared):
        stretches = zip(prepared.left, prepared.right, strict=True)
        return [prepared.vocabulary[prepared.tokens[left:right]].tolist() for left, right in stretches]

    assert read(few) == read(one)
