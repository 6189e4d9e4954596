"""Phrases and codes: words to the user that are none to a store.

A store has contexts of ``deep``, ``vein`` and ``thrombosis``, of ``c`` and of ``node`` and ``js``, but not of
``deep vein thrombosis``, ``C++`` or ``Node.js``. The contexts of such a phrase are those of its rarest word
that hold all of it. A store samples at most 1,000 contexts of a word, so what is found, and the count of the
phrase, is all there is unless its rarest word occurs more often.

To a model that tells capitals apart, ``Kumquat`` at the start of a sentence is another word than ``kumquat``.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from rarewords.corpus.read import read_shard
from rarewords.corpus.sources import Shard, Source, find_sources
from rarewords.corpus.store import Store
from rarewords.corpus.text import words_of
from rarewords.files import whole_file
from rarewords.injection import unfit_words
from rarewords.mimic.masked import Span, find_word
from rarewords.tokens import Tokens, with_capital
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


def on_one_line(files: Sequence[str], phrases: Sequence[str], field: str, folder: Path) -> list[str]:
    """The files, with a copy in ``folder`` for each that breaks one of these phrases over two lines.

    A store's sentences end with their line; the copy has the two lines as one.
    """
    gap = r"(?:[^\S\n]*\n[^\S\n]*|[^\S\n]+)"
    each = (gap.join(map(re.escape, phrase.split())) for phrase in sorted(phrases, key=len, reverse=True))
    broken = re.compile(rf"(?<![^\W_])(?:{'|'.join(each)})(?![^\W_])", re.IGNORECASE)

    def joined(source: Source) -> Iterator[tuple[str, str]]:
        for _, text, _ in read_shard(Shard(source)):
            yield text, broken.sub(lambda found: " ".join(found.group().split()), text)

    result = []
    for number, source in enumerate(find_sources(files, field)):
        result.append(source.path)
        if any(text.count("\n") != whole.count("\n") for text, whole in joined(source)):
            result[-1] = str(folder / f"{number}.txt")
            with whole_file(result[-1]) as temporary, temporary.open("w", encoding="utf-8") as stream:
                stream.writelines(whole for _, whole in joined(source))
    return result


def with_capitals(vectors: WordVectors, tokens: Tokens, *, slash: bool) -> WordVectors:
    """The vectors, for a cased model each also for its word with a capital, unless that has its own token."""
    if tokens.lower_case:
        return vectors
    every = {word: with_capital(word) for word in vectors.words}
    new = {word: form for word, form in every.items() if form not in vectors and len(tokens.pieces(form)) > 1}
    unfit = unfit_words(tokens.tokenizer, [*vectors.words, *new.values()], slash=slash)
    words = [word for word, form in new.items() if form not in unfit]
    forms = [new[word] for word in words]
    return vectors.merge(WordVectors(forms, vectors.subset(words).matrix)) if words else vectors
