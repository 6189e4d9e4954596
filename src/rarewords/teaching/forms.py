"""The forms of a word: those that come along with a taught one, and those that stand for it where a text lacks it.

Phrases and codes, such as ``deep vein thrombosis`` or ``C++``, are words to the user, but none to a corpus.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

import numpy as np

from rarewords.corpus.corpus import Context, Corpus
from rarewords.corpus.text import words_of
from rarewords.embeddings import WordEmbeddings
from rarewords.injection.forms import inflections, relatives
from rarewords.injection.inject import unfit_words
from rarewords.injection.taught import taught_tokens
from rarewords.injection.vocabulary import shares_beginnings
from rarewords.learner.masked import find_word
from rarewords.lm import LanguageModel
from rarewords.tokens import Placement

_FEWEST_PAIRS = 20


def entries_with_forms(
    embeddings: WordEmbeddings,
    lm: LanguageModel,
    *,
    placement: Placement,
    whole: Collection[str],
    count: Callable[[str], int],
) -> tuple[WordEmbeddings, dict[str, tuple[str, ...]]]:
    """The embeddings of words and of those forms that need entries, and all forms that come along with each word.

    A WordPiece vocabulary covers most forms by itself: ``kumquats`` is ``kumquat ##s``. Any other gets an entry.

    :param whole: words whose entry must not be the start of longer words.
    :param count: how often the text has a form.
    """
    covered = placement == "replace" and shares_beginnings(lm.tokenizer)
    rows: dict[str, np.ndarray] = {}
    along: dict[str, list[str]] = {}
    taken, offsets = {*embeddings.words, *taught_tokens(lm.model, lm.tokenizer)}, inflection_offsets(lm)
    for word in embeddings.words:
        own, along[word] = {word: embeddings[word]}, []
        noun = word.isalpha() and word.islower() and len(word) > 2 and not word.endswith("s")
        for number, form in enumerate(inflections(word)):
            used = (noun and number == 0) or count(form)  # a plural need not be in the text
            if used and form not in taken and len(lm.subwords(form)) > 1:
                along[word].append(form)
                if not (covered and word not in whole and form.startswith(word)):
                    own[form] = embeddings[word] + offsets.get(number, 0)
        if not lm.lower_case:
            for form in list(own):
                capital = form[:1].upper() + form[1:]
                if capital not in {*own, *taken} and len(lm.subwords(capital)) > 1:
                    along[word].append(capital)
                    own[capital] = own[form]
        rows |= own
        taken |= own.keys()
    unfit = unfit_words(lm.tokenizer, list(rows), placement=placement)
    kept = {form: row for form, row in rows.items() if form not in unfit or form in along}
    forms = {word: tuple(form for form in own if form not in unfit) for word, own in along.items()}
    return WordEmbeddings(kept, np.stack(list(kept.values())).astype(np.float32)), forms


@lru_cache(maxsize=2)
def inflection_offsets(lm: LanguageModel) -> Mapping[int, np.ndarray]:
    """The mean difference between the embedding of each inflection and that of its word. *Shape:* (dim,) each"""
    known, found = lm.whole_words, {}
    pairs = defaultdict(list)
    for word in known:
        if word.islower() and len(word) > 2:
            for number, form in enumerate(inflections(word)):
                if form in known:
                    pairs[number].append((known[word], known[form]))
    for number, own in pairs.items():
        if len(own) >= _FEWEST_PAIRS:
            words, forms = (lm.embeddings[list(ids)].float().mean(0) for ids in zip(*own, strict=True))
            found[number] = (forms - words).cpu().numpy()
    return found


def other_contexts(corpus: Corpus, word: str) -> list[Context]:
    """The sentences that hold a phrase or a code, or else those of other forms, with the word in their place."""
    found = phrase_contexts(corpus, word)
    for form in () if found else relatives(word):
        for sentence, start, end in corpus.contexts(form):
            found.append(Context(sentence[:start] + word + sentence[end:], start, start + len(word)))
    return found


def phrase_contexts(corpus: Corpus, phrase: str) -> list[Context]:
    """The sentences of a corpus that hold a phrase or a code, each once, and its characters in them.

    They are looked for among the contexts of its rarest word. A corpus samples at most 1,000 contexts of a word, so
    what is found, and the count of the phrase, is all there is unless its rarest word occurs more often.
    """
    lower_case = corpus.settings.lower_case
    counts = {word: corpus.count(word) for word in words_of(phrase, lower_case=lower_case)}
    if not counts or not all(counts.values()):
        return []
    found = {}
    for sentence, _, _ in corpus.contexts(min(counts, key=lambda word: (counts[word], word))):
        if place := find_word(phrase, sentence, lower_case=lower_case):
            found[sentence] = Context(sentence, *place)
    return list(found.values())
