"""Which contexts of a word its embedding is made from, and which are held out to check it (docs/concepts/check.md).

No embedding is checked on a context it was made from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from rarewords.corpus.corpus import Context, Corpus
from rarewords.learner.definitions import sentences_of
from rarewords.learner.masked import find_word
from rarewords.teaching.forms import other_contexts
from rarewords.teaching.glossary import Glossary, GlossaryEntry
from rarewords.teaching.settings import TeachSettings

_ENOUGH, _FOLDS, _HELD_OUT = 16, 4, 8


@dataclass(frozen=True)
class Fold:
    """Contexts an embedding is made from, and held-out ones that check it; the two share none."""

    contexts: tuple[str, ...]
    held_out: tuple[Context, ...]


@dataclass(frozen=True)
class HoldOut:
    """A word, the contexts and definitions its embedding is made from, and the folds that check it."""

    word: str
    count: int
    contexts: tuple[str, ...]
    folds: tuple[Fold, ...]
    definitions: tuple[str, ...] = ()

    @property
    def sentences(self) -> Sequence[str]:
        """The sentences of the word, or those that stand for its definitions."""
        return self.contexts or [text for one in self.definitions for text in sentences_of(self.word, one)]

    @property
    def context_sets(self) -> list[tuple[str, ...]]:
        """The contexts of each embedding that the word needs: the one to teach, then those of its folds."""
        return list(dict.fromkeys([self.contexts, *(fold.contexts for fold in self.folds)]))

    @property
    def passes(self) -> int:
        """How many sentences the model reads; those held out twice, with subwords and with embedding."""
        held_out = sum(len(fold.held_out) for fold in self.folds)
        return len(self.contexts) + len(self.definitions) + 2 * held_out


def hold_out(
    corpus: Corpus | None, words: Mapping[str, int], settings: TeachSettings, glossary: Glossary = MappingProxyType({})
) -> list[HoldOut]:
    """The holdouts of words given with their counts."""
    wanted = settings.contexts + _HELD_OUT
    # A sentence that has the word twice is two contexts; twice as many leave enough different ones.
    every = corpus.contexts_of(list(words), 2 * wanted) if corpus else ((word, []) for word in words)
    holdouts = []
    for word, contexts in every:
        found: dict[str, Context] = {}
        entry = glossary.get(word, GlossaryEntry())
        for example in entry.examples:
            if place := find_word(word, example, lower_case=True):
                found[example] = Context(example, *place)
        for span in contexts or (other_contexts(corpus, word) if corpus else ()):
            found.setdefault(span.sentence, span)
        holdout = hold_out_contexts(word, words[word], list(found.values())[:wanted], settings)
        holdouts.append(replace(holdout, definitions=entry.definitions))
    return holdouts


def hold_out_contexts(word: str, count: int, spans: Sequence[Context], settings: TeachSettings) -> HoldOut:
    """Divide the contexts of a word.

    Of 16 and more a quarter, at most 8, are held out and never used. Of fewer a quarter would be too few to check
    by: they make four folds, of which each is checked with an embedding from the others. A single one checks nothing.
    """
    if len(spans) >= _ENOUGH:
        # The first contexts are learned from: a search has looked at them.
        learned = min(settings.contexts, len(spans) - min(_HELD_OUT, len(spans) // 4))
        contexts = tuple(one.sentence for one in spans[:learned])
        return HoldOut(word, count, contexts, (Fold(contexts, tuple(spans[learned : learned + _HELD_OUT])),))
    spans = spans[: settings.contexts]
    sentences = tuple(one.sentence for one in spans)
    folds = []
    for fold in range(min(_FOLDS, len(spans)) if len(spans) > 1 else 0):
        others = tuple(one for place, one in enumerate(sentences) if place % _FOLDS != fold)
        folds.append(Fold(others, tuple(spans[fold::_FOLDS][: _HELD_OUT // _FOLDS])))
    return HoldOut(word, count, sentences, tuple(folds))
