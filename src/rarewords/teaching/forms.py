"""The forms that come along with a taught word: its plural, other inflections in the text, capitals."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Set
from functools import lru_cache

import numpy as np

from rarewords.corpus.corpus import Context, Corpus
from rarewords.embeddings import WordEmbeddings
from rarewords.injection.forms import inflections, relatives
from rarewords.injection.inject import unfit_words
from rarewords.injection.vocabulary import shares_beginnings
from rarewords.lm import LanguageModel
from rarewords.teaching.phrases import phrase_contexts
from rarewords.tokens import Placement

_FEWEST_PAIRS = 20


def forms_of(word: str, count: Callable[[str], int]) -> dict[str, int]:
    """The forms of a word that the text has, or its plural in any case, and which inflection each is.

    >>> forms_of("kumquat", {"kumquats": 2}.get)
    {'kumquats': 0}
    """
    noun = word.isalpha() and word.islower() and len(word) > 2 and not word.endswith("s")
    found = enumerate(inflections(word))
    return {form: number for number, form in found if (noun and number == 0) or count(form)}


def entries_with_forms(
    embeddings: WordEmbeddings,
    lm: LanguageModel,
    *,
    placement: Placement,
    whole: Collection[str],
    count: Callable[[str], int],
    earlier: Set[str] = frozenset(),
) -> tuple[WordEmbeddings, dict[str, tuple[str, ...]]]:
    """The embeddings of words and of those forms that need entries, and all forms that come along with each word.

    A WordPiece vocabulary covers most forms by itself: ``kumquats`` is ``kumquat ##s``. Any other gets an entry.

    :param whole: words whose entry must not be the start of longer words.
    :param count: how often the text has a form.
    :param earlier: words that have entries already.
    """
    covered = placement == "replace" and shares_beginnings(lm.tokenizer)
    rows: dict[str, np.ndarray] = {}
    along: dict[str, list[str]] = {}
    taken, offsets = {*embeddings.words, *earlier}, inflection_offsets(lm)
    found = {word: forms_of(word, count) for word in embeddings.words}
    inflected = [form for own in found.values() for form in own]
    subwords = dict(zip(inflected, lm.tokens.subwords_of(inflected), strict=True))
    for word in embeddings.words:
        own, along[word] = {word: embeddings[word]}, []
        for form, number in found[word].items():
            if form not in taken and len(subwords[form]) > 1:
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


def other_contexts(corpus: Corpus, word: str) -> list[Context]:
    """The sentences that hold a phrase or a code, or else those of other forms, with the word in their place."""
    found = phrase_contexts(corpus, word)
    for form in () if found else relatives(word):
        for sentence, start, end in corpus.contexts(form):
            found.append(Context(sentence[:start] + word + sentence[end:], start, start + len(word)))
    return found


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
