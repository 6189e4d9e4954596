"""Phrases and codes: words to the user that are none to a store.

A store has contexts of ``deep``, ``vein`` and ``thrombosis``, of ``c`` and of ``node`` and ``js``, but not of
``deep vein thrombosis``, ``C++`` or ``Node.js``. The contexts of such a phrase are those of its rarest word
that hold all of it. A store samples at most 1,000 contexts of a word, so what is found, and the count of the
phrase, is all there is unless its rarest word occurs more often.
"""

from __future__ import annotations

from rarewords.corpus.store import Store
from rarewords.corpus.text import words_of
from rarewords.mimic.masked import Span, find_word


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
