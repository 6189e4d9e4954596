"""What the glossary experiment measures on: WordNet's definitions of WNLaMPro's keywords, and the text of a corpus."""

import gzip

from experiments.glossary import __main__ as glossary
from rarewords import wnlampro


def test_every_entry_of_several_subwords_that_wordnet_defines_has_its_definition(lm):
    found = glossary.defined_entries(lm, "dev")
    glosses = {(entry.word.text, entry.relation): gloss for entry, gloss in found.items()}
    assert len(found) == 1862
    assert glosses["lazaret", "hypernym"] == "hospital for persons with infectious diseases (especially leprosy)"
    assert not any(entry.relation == "corruption" or len(lm.subwords(entry.word.text)) == 1 for entry in found)


def test_a_definition_answers_if_it_has_a_target():
    lazaret = next(one for one in wnlampro.load() if (one.word.text, one.relation) == ("lazaret", "hypernym"))
    assert glossary.says("a large Building, far away", lazaret)
    assert not glossary.says("one of several buildings", lazaret)


def test_the_sentences_of_a_corpus_are_those_that_are_read(lm, corpus, tmp_path):
    words = [entry.word.text for entry in glossary.defined_entries(lm, "test")]
    glossary.sentences(corpus.path, tmp_path / "text.txt.gz", subset="test")
    lines = gzip.decompress((tmp_path / "text.txt.gz").read_bytes()).decode().splitlines()
    assert set(lines) == {one.sentence for word in words for one in corpus.contexts(word, 32)} != set()
