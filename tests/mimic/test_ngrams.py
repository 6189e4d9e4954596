"""Character n-grams and their table."""

from hypothesis import given
from hypothesis import strategies as st

from rarewords.learner.spelling import ngrams
from rarewords.mimic.model import NgramTable
from rarewords.mimic.settings import preset
from tests.errors import refused_with
from tests.mimic import literal


@given(st.text("abcde", min_size=1, max_size=12), st.integers(1, 4), st.integers(0, 3))
def test_ngrams_are_all_substrings_of_the_marked_word(word, shortest, more):
    longest = shortest + more
    marked = f"^{word}$"
    found = ngrams(word, shortest, longest)
    assert all(gram in marked and shortest <= len(gram) <= longest for gram in found)
    assert len(found) == sum(max(0, len(marked) - n + 1) for n in range(shortest, longest + 1))


def test_the_papers_ngrams_have_3_to_5_characters():
    assert ngrams("cat") == ["^ca", "cat", "at$", "^cat", "cat$", "^cat$"]
    assert ngrams("cat") == literal.ngrams("cat")


def test_the_table_keeps_ngrams_that_four_words_contain_and_knows_the_rest_as_one():
    words = ["cats", "cat", "catcatcat", "rats"]
    assert NgramTable.from_words(words, preset("am")).known == []  # three words contain "cat", however often
    table = NgramTable.from_words([*words, "concat"], preset("am"))
    assert table.known == ["cat"]
    assert len(table) == 2
    assert table.numbers("cat").tolist() == [0, 1, 0, 0, 0, 0]
    assert table.numbers("x").tolist() == [0]
    limited = NgramTable.from_words(words, preset("am", ngram_threshold=1, ngram_limit=3))
    assert limited.known == ["^ca", "^cat", "cat"]  # three words each
    with refused_with("damaged"):
        NgramTable(["cat", "cat"])
