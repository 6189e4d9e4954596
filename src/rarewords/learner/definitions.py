"""What a definition says about a word.

A definition is read like a sentence, in four frames in which the model sees the word and its definition::

    a kumquat is a small orange fruit.              the kumquat, a small orange fruit, is here.
    a small orange fruit is called a kumquat.       "kumquat" means a small orange fruit.

The mask follows behind the word and a slash, as in :mod:`.expected`: the expected embedding says what the
model makes of the definition. Its own words count as well. Each known content word *t* of the definition has
an embedding, and the more it agrees with the embedding *v* of the word, the more it counts. Early words count
more, because a definition starts with the kind of thing that it defines::

    content = sum over t of softmax(10 cos(e(t), v) - 0.1 place(t)) e(t)

The numbers were chosen on WordNet's definitions of WNLaMPro's dev keywords (``experiments/glossary``).
"""

import re
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from rarewords.corpus.characters import fold
from rarewords.learner.english import FUNCTION_WORDS
from rarewords.learner.evidence import Evidence
from rarewords.learner.expected import pool, read
from rarewords.learner.known_words import KnownWords
from rarewords.learner.masked import contexts_of_sentences, find_word
from rarewords.lm import LanguageModel

WEIGHT = 16.0  # a definition counts as much as this many sentences
CONTENT = 0.8  # the weight of a definition's own words beside what the model expects
_SHARPNESS, _DECAY = 10.0, 0.1
_FRAMES = {
    "noun": ("{a} {w} is {d}.", "{d} is called {a} {w}.", "the {w}, {d}, is here.", '"{w}" means {d}.'),
    "verb": ("to {w} is {d}.", '"to {w}" means {d}.', "they {w}, that is, {d}.", "{d} is called to {w}."),
    "other": ("{w} is {d}.", '"{w}" means {d}.', "{w}: {d}.", "{d} is called {w}."),
}
_ARTICLE = re.compile(r"(?:an?|any|one|the|someone|something|some)\b", re.IGNORECASE)
# A dictionary's marks before the text: "n.:", "1.", "(Botany)", "in anorak, n.:".
_MARKS = re.compile(
    r"^(?:(?:\d+[.)]|\([^()]*\)|(?:in [\w-]+, )?(?:n|v|adj|adv|noun|verb)\.?:)\s*)+", re.IGNORECASE
)
_SENSES = re.compile(r"(?<=[.;])\s*\d+[.)]\s+")
_QUOTES = "\"'“”‘’ \t"
_LONGEST = 400  # characters; the rest of a definition adds detail that one embedding cannot hold


def sentences_of(word: str, definition: str) -> list[str]:
    """The sentences that stand for a definition.

    >>> sentences_of("oca", "n.: a plant with edible tubers.")[0]
    'an oca is a plant with edible tubers.'
    >>> sentences_of("xnopyt", "to disintegrate")[0]
    'to xnopyt is to disintegrate.'
    """
    if find_word(word, definition, lower_case=True) is not None:
        return [definition]
    texts = []
    for sense in senses(definition):
        kind = "verb" if sense.lower().startswith("to ") else "noun" if _ARTICLE.match(sense) else "other"
        article = "an" if word[:1].lower() in tuple("aeiou") else "a"
        texts += [frame.format(w=word, d=sense, a=article) for frame in _FRAMES[kind]]
    return texts


def senses(definition: str) -> list[str]:
    """The senses of a definition without a dictionary's marks: ``"1. A player. 2. A fan." -> two``."""
    found = []
    for sense in _SENSES.split(definition):
        text = _MARKS.sub("", " ".join(sense.split()).strip(_QUOTES)).strip(_QUOTES).rstrip(".;:,")[:_LONGEST]
        first = text.split(" ")[0]
        if text:
            # A capital at the start is the sentence's, not the word's, unless there are more: DNA, McCoy.
            found.append(text[0].lower() + text[1:] if first[1:].islower() or len(first) == 1 else text)
    return found


def read_definitions(lm: LanguageModel, known: KnownWords, tasks: Sequence[Evidence], length: int) -> Tensor:
    """The expected embedding by each word's definitions, by default the mean. *Shape:* (words, dim)"""
    own = [[text for one in task.definitions for text in sentences_of(task.word, one)] for task in tasks]
    pairs = [(task.word, text) for task, texts in zip(tasks, own, strict=True) for text in texts]
    readings = read(lm, known, contexts_of_sentences(lm.tokens, pairs, length=length), "shown")
    return pool(readings, np.array([len(texts) for texts in own], np.int64), known.mean)


def content(lm: LanguageModel, known: KnownWords, tasks: Sequence[Evidence], embeddings: Tensor) -> Tensor:
    """Where the words of each definition point; zero without a known word. *Shape:* (words, dim)"""
    towards, result = known.directions(embeddings), torch.zeros_like(embeddings)
    for row, task in enumerate(tasks):
        words = [
            word for one in task.definitions for sense in senses(one) for word in _content_words(lm, sense)
        ]
        ids = [lm.whole_words[word] for word in dict.fromkeys(words) if word != task.word]
        if ids:
            directions = known.directions(lm.embeddings[ids])
            places = torch.arange(len(ids), device=directions.device)
            weights = torch.softmax(_SHARPNESS * directions @ towards[row] - _DECAY * places, dim=0)
            result[row] = weights @ directions
    return result


def _content_words(lm: LanguageModel, text: str) -> list[str]:
    words = re.findall(r"[^\W\d_]+", fold(text) if lm.lower_case else text)
    return [word for word in words if word in lm.whole_words and word.lower() not in FUNCTION_WORDS]
