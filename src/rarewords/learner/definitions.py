"""What a definition says about a word.

A definition is read like a sentence, in two frames in which the model sees the word and its definition::

    a small orange fruit is called a kumquat.       "kumquat" means a small orange fruit.

Two more frames ask for the kind of thing, and count as much::

    a kumquat is a kind of [MASK]: a small orange fruit.        a small orange fruit is a kind of [MASK].

Its own words count as well. Each known content word *t* has an embedding, and the more it agrees with the
embedding *v* of the word, and the earlier it stands, the more it counts. The *head* counts most, because a
definition starts with the kind of thing that it defines::

    content = 0.4 sum over t of softmax(10 cos(e(t), v) - 0.1 place(t)) e(t) + 0.8 e(head)

The numbers and frames were chosen on WordNet's definitions of WNLaMPro's dev keywords and on the new terms of
2022 (``experiments/glossary``).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from rarewords.corpus.characters import fold
from rarewords.learner.english import ENGLISH, FUNCTION_WORDS
from rarewords.learner.evidence import Evidence
from rarewords.learner.expected import pool, read
from rarewords.learner.known_words import KnownWords
from rarewords.learner.masked import contexts_of_sentences, find_word
from rarewords.lm import LanguageModel

WEIGHT = 16.0  # the reading of a definition counts as much as those of this many sentences
DEFINED = 0.8  # the distance of an embedding from the mean, in those of known words
_CONTENT, _HEAD = 0.4, 0.8  # the weights of a definition's own words beside what the model expects
_SHARPNESS, _DECAY = 10.0, 0.1
_FRAMES = {
    "noun": ("{d} is called {a} {w}.", '"{w}" means {d}.'),
    "verb": ("{d} is called to {w}.", '"to {w}" means {d}.'),
    "other": ("{d} is called {w}.", '"{w}" means {d}.'),
}
_KINDS = ("{a} {w} is a kind of {m}: {d}.", "{d} is a kind of {m}.")
_ARTICLE = re.compile(r"(?:an?|any|one|the|someone|something|some)\b", re.IGNORECASE)
# A dictionary's marks before the text: "n.: “", "1.", "(Botany)", "noun,", "in anorak, n.1:", "adj. and n., sense 2:";
# its labels: "transitive. ", "U.S. slang. ".
_PART = r"(?:n|v|adj|adv|int|noun|verb|adjective|adverb)\b\.?\d*"
_MARKS = re.compile(
    rf"^(?:(?:\d+[.)]|\([^()]*\):?|(?:in [^:“]+, )?{_PART}(?:(?:, (?:and )?| and ){_PART})*"
    r"(?:,? (?:sense|additions|compounds|phrasal)[^:“]*)?[:,]|[“\"])\s*"
    r"|(?:[\w.]+ ){0,3}?(?:(?:in)?transitive|figurative|colloquial|slang|obsolete|rare|regional)\. )+",
    re.IGNORECASE,
)
_SENSES = re.compile(r"(?<=[.;])\s*\d+[.)]\s+")
_QUOTES = "\"'“”‘’ \t"
_LONGEST = 400  # characters; the rest of a definition adds detail that one embedding cannot hold


def sentences_of(word: str, definition: str) -> list[str]:
    """The sentences that stand for a definition.

    >>> sentences_of("oca", "n.: a plant with edible tubers.")
    ['a plant with edible tubers is called an oca.', '"oca" means a plant with edible tubers.']
    """
    if find_word(word, definition, lower_case=True) is not None:
        return [definition]
    texts = []
    for sense in senses(definition):
        kind = "verb" if sense.lower().startswith("to ") else "noun" if _ARTICLE.match(sense) else "other"
        texts += [frame.format(w=word, d=sense, a=_article(word)) for frame in _FRAMES[kind]]
    return texts


def senses(definition: str) -> list[str]:
    """The senses of a definition without a dictionary's marks: ``"1. A player. 2. A fan." -> two``."""
    found = []
    for sense in _SENSES.split(definition):
        text = _MARKS.sub("", " ".join(sense.split())).strip(_QUOTES).rstrip(".;:,")[:_LONGEST]
        first = text.split(" ")[0]
        if text:
            # A capital at the start is the sentence's, not the word's, unless there are more: DNA, McCoy.
            found.append(text[0].lower() + text[1:] if first[1:].islower() or len(first) == 1 else text)
    return found or [definition] * bool(definition.strip())


def read_definitions(lm: LanguageModel, known: KnownWords, tasks: Sequence[Evidence], length: int) -> Tensor:
    """The expected embedding by each word's definitions, by default the mean. *Shape:* (words, dim)"""
    mask, shown, kinds = lm.tokens.mask_token, list[list[tuple[str, str]]](), list[list[tuple[str, str]]]()
    for task in tasks:
        article = _article(task.word)
        shown.append([(task.word, text) for one in task.definitions for text in sentences_of(task.word, one)])
        frames = [(sense, frame) for sense in _senses_of(task) for frame in _KINDS]
        kinds.append([(mask, frame.format(a=article, w=task.word, d=sense, m=mask)) for sense, frame in frames])

    def pooled(texts: Sequence[Sequence[tuple[str, str]]], reading: str) -> Tensor:
        contexts = contexts_of_sentences(lm.tokens, [pair for own in texts for pair in own], length=length)
        return pool(read(lm, known, contexts, reading), np.array([len(own) for own in texts], np.int64), known.mean)

    return (pooled(shown, "shown") + pooled(kinds, "masked")) / 2


def content(lm: LanguageModel, known: KnownWords, tasks: Sequence[Evidence], embeddings: Tensor) -> Tensor:
    """Where the words of each definition point; zero without a known word. *Shape:* (words, dim)"""
    towards, result = known.directions(embeddings), torch.zeros_like(embeddings)
    for row, task in enumerate(tasks):
        ids = [lm.whole_words[word] for word in _content_words(lm, task) if word in lm.whole_words]
        if ids:
            directions = known.directions(lm.embeddings[ids])
            places = torch.arange(len(ids), device=directions.device)
            weights = torch.softmax(_SHARPNESS * directions @ towards[row] - _DECAY * places, dim=0)
            result[row] = _CONTENT * weights @ directions
        heads = [lm.whole_words[word] for text in _senses_of(task) if (word := head(lm, text)) and word != task.word]
        if heads:
            result[row] += _HEAD * known.directions(lm.embeddings[heads]).mean(0)
    return result


def mean_of_words(lm: LanguageModel, known: KnownWords, task: Evidence) -> Tensor:
    """The mean direction of the words of the definitions, of unit length; zero without one. *Shape:* (dim,)

    A word of several subwords counts by their mean.
    """
    subwords = lm.tokens.subwords_of(_content_words(lm, task))
    words = torch.stack([*(lm.embeddings[ids].float().mean(0) for ids in subwords), known.mean])
    return nn.functional.normalize(known.directions(words).sum(0), dim=0, eps=1e-9)


def head(lm: LanguageModel, text: str) -> str | None:
    """The kind of thing that a definition names: the last content word of its first noun phrase.

    ``"any of various small freshwater fishes of Europe" -> "fish"``
    """
    phrase, parts = list[str](), re.findall(r"[^\W\d_]+|[^\w\s]", fold(text) if lm.lower_case else text)
    for part, following in pairwise([*parts, "."]):
        # "a shelf projecting from a wall" ends with the shelf, "a sailing boat" does not end with sailing.
        ends = part in ENGLISH["participle"] or (part.endswith(("ed", "ing")) and not _has_content(following))
        if _has_content(part) and not (phrase and ends):
            phrase.append(part)
        elif phrase and part == "of" and phrase[-1] in ENGLISH["empty_head"]:
            phrase = []
        elif phrase and part != "-":
            break
    last = next((word for word in reversed(phrase) if word in lm.whole_words), None)
    return last and next((one for one in _singulars(last) if one in lm.whole_words), last)


def _senses_of(task: Evidence) -> list[str]:
    return [sense for definition in task.definitions for sense in senses(definition)]


def _content_words(lm: LanguageModel, task: Evidence) -> list[str]:
    """The words of the definitions of a word that carry meaning, each once, without the word itself."""
    text = " ".join(_senses_of(task))
    words = re.findall(r"[^\W\d_]+", fold(text) if lm.lower_case else text)
    return [word for word in dict.fromkeys(words) if _has_content(word) and word != task.word]


def _singulars(word: str) -> Iterator[str]:
    """What a word may be the plural of: ``"fishes" -> "fish", "fishe"``."""
    for ending, singular in (("ies", "y"), ("es", ""), ("s", "")):
        if len(word) > 4 and word.endswith(ending) and not word.endswith("ss"):
            yield word.removesuffix(ending) + singular


def _article(word: str) -> str:
    return "an" if word[:1].lower() in tuple("aeiou") else "a"


def _has_content(word: str) -> bool:
    return len(word) > 2 and word.lower() not in FUNCTION_WORDS
