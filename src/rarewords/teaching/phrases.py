"""Phrases and codes: words to the user that are none to a store.

A store has contexts of ``deep``, ``vein`` and ``thrombosis``, of ``c`` and of ``node`` and ``js``, but not of
``deep vein thrombosis``, ``C++`` or ``Node.js``. The contexts of such a phrase are those of its rarest word
that hold all of it. A store samples at most 1,000 contexts of a word, so what is found, and the count of the
phrase, is all there is unless its rarest word occurs more often.

To a model that tells capitals apart, ``Kumquat`` at the start of a sentence is another word than ``kumquat``.
"""

from __future__ import annotations

from rarewords.corpus.store import Store
from rarewords.corpus.text import words_of
from rarewords.injection import unfit_words
from rarewords.mimic.masked import Span, find_word
from rarewords.tokens import Tokens
from rarewords.vectors import WordVectors


def phrase_contexts(store: Store, phrase: str) -> list[Span]:
    """The sentences of a store that hold a phrase or a code, each once, and its characters in them."""
    lower_case = store.settings.lower_case
    counts = {word: store.count(word) for word in words_of(phrase, lower_case=lower_case)}
    if not counts or not all(counts.values()):
        return []
    rarest = min(counts, key=lambda word: (counts[word], word))
    found = {}
    for context in store.contexts(rarest):
        place = find_word(phrase, context.sentence, lower_case=lower_case)
        if place is not None:
            found[context.sentence] = (context.sentence, *place)
    return list(found.values())


def with_capitals(vectors: WordVectors, tokens: Tokens, *, slash: bool) -> WordVectors:
    """The vectors, for a cased model each also for its word with a capital, unless that has its own token."""
    if tokens.lower_case:
        return vectors
    every = {word: word[:1].upper() + word[1:] for word in vectors.words}
    new = {word: form for word, form in every.items() if form not in vectors and len(tokens.pieces(form)) > 1}
    unfit = unfit_words(tokens.tokenizer, [*vectors.words, *new.values()], slash=slash)
    words = [word for word, form in new.items() if form not in unfit]
    forms = [new[word] for word in words]
    return vectors.merge(WordVectors(forms, vectors.subset(words).matrix)) if words else vectors
