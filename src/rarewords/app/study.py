"""What the page shows about one word: answers before and after, weights of sentences, nearest words."""

from __future__ import annotations

import math
import re
import threading
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import torch

from rarewords.corpus.text import words_of
from rarewords.errors import InputError
from rarewords.lm import LanguageModel, Query
from rarewords.teaching.learners import Learner
from rarewords.tokens import BLANK, WORD_SLOT

# Limits on a request; they keep an answer within a second.
MOST_SENTENCES = 24
LONGEST_SENTENCE = 600
LONGEST_WORD = 40
LONGEST_QUESTION = 200
_ANSWERS = 6
_NEIGHBOURS = 10
_SAMPLE_SENTENCES = 8


@dataclass(frozen=True)
class Request:
    """What a visitor typed, checked."""

    word: str
    sentences: tuple[str, ...]
    question: str

    @classmethod
    def parse(cls, sent: Any) -> Request:
        """Check a request; whatever is wrong is an :class:`InputError` that a visitor can act on."""
        if not isinstance(sent, dict):
            raise InputError("send an object with a word and sentences")
        word, sentences, question = sent.get("word"), sent.get("sentences"), sent.get("question", "")
        if not isinstance(word, str) or not isinstance(question, str) or not isinstance(sentences, list):
            raise InputError("send a word and a list of sentences")
        if not all(isinstance(sentence, str) for sentence in sentences):
            raise InputError("every sentence must be text")
        word, question = word.strip(), " ".join(question.split())
        lines = tuple(" ".join(sentence.split()) for sentence in sentences if sentence.strip())
        if not word or len(word) > LONGEST_WORD or not re.fullmatch(r"[^\W_]+(?:[-.'’][^\W_]+)*\.?", word):
            raise InputError(f"type one word of at most {LONGEST_WORD} letters")
        if not lines:
            raise InputError("type at least one sentence with the word in it, one per line")
        if len(lines) > MOST_SENTENCES:
            raise InputError(f"{len(lines)} sentences are too many; type at most {MOST_SENTENCES}")
        long = next((number for number, line in enumerate(lines, 1) if len(line) > LONGEST_SENTENCE), None)
        if long is not None:
            raise InputError(f"sentence {long} is longer than {LONGEST_SENTENCE} characters; shorten it")
        if len(question) > LONGEST_QUESTION:
            raise InputError(f"the question is longer than {LONGEST_QUESTION} characters; shorten it")
        return cls(word, lines, question)


class Study:
    """A model and a learner that answer one request at a time."""

    def __init__(self, lm: LanguageModel, learner: Learner) -> None:
        self.lm, self.learner = lm, learner
        self._names = list(lm.whole_words)
        rows = lm.embeddings[list(lm.whole_words.values())].float()
        # Embeddings share a large common part; only the rest tells words apart.
        self._mean = rows.mean(0)
        self._table = torch.nn.functional.normalize(rows - self._mean, dim=1)
        self._lock = threading.Lock()

    def answer(self, request: Request) -> dict[str, Any]:
        """Everything the page shows about a word."""
        word = request.word.lower() if self.lm.lower_case else request.word
        for number, sentence in enumerate(request.sentences, 1):
            if word not in words_of(sentence, lower_case=self.lm.lower_case):
                raise InputError(f"sentence {number} does not contain the word “{request.word}”")
        patterns = self._patterns(word, request.question)
        with self._lock:
            inferred = self.learner.infer(word, request.sentences)
            queries = [Query(pattern, word) for pattern in patterns]
            queries += [Query(pattern, word, inferred.vector) for pattern in patterns]
            answers = self.lm.fill(queries, top_k=_ANSWERS)
        found = [
            [
                {"word": name, "probability": round(math.exp(log_prob), 4)}
                for name, log_prob in zip(answers.words(row), answers.log_probs[row].tolist(), strict=True)
            ]
            for row in range(len(queries))
        ]
        shown = [pattern.replace(WORD_SLOT, word) for pattern in patterns]
        return {
            "word": word,
            "pieces": self.lm.piece_strings(self.lm.pieces(word)),
            "questions": [
                {"question": text, "before": found[row], "after": found[row + len(patterns)]}
                for row, text in enumerate(shown)
            ],
            "context_share": round(inferred.context_share, 4),
            "sentences": [
                {"sentence": sentence, "weight": round(weight, 4)}
                for sentence, weight in zip(request.sentences, inferred.weights, strict=True)
            ],
            "neighbours": self._neighbours(torch.from_numpy(inferred.vector)),
        }

    def _patterns(self, word: str, question: str) -> list[str]:
        article = "an" if word[:1].lower() in tuple("aeiou") else "a"
        patterns = [
            f"{article} {WORD_SLOT} is a kind of _.",
            f'"{WORD_SLOT}" refers to a _.',
            f"the {WORD_SLOT} and the _.",
        ]
        if question:
            own = re.sub(
                rf"(?<!\w){re.escape(word)}(?!\w)", WORD_SLOT, question, count=1, flags=re.IGNORECASE
            )
            if WORD_SLOT not in own or len(BLANK.findall(own)) != 1:
                raise InputError(f"your question needs the word “{word}” and one _ for the blank")
            if self.lm.tokens.mask_token in own or own.count(WORD_SLOT) > 1:
                raise InputError("write the blank as _ and the word as itself")
            patterns.insert(0, own)
        return patterns

    def _neighbours(self, vector: torch.Tensor) -> list[dict[str, Any]]:
        """The words of the vocabulary nearest to a vector by cosine. *Shape of vector:* (dim,)"""
        direction = torch.nn.functional.normalize(vector.to(self._mean) - self._mean, dim=0)
        best = torch.topk(self._table @ direction, _NEIGHBOURS)
        return [
            {"word": self._names[row], "similarity": round(value, 4)}
            for row, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]


def samples() -> list[dict[str, Any]]:
    """The words of the demo with some of their sentences."""
    folder = files("rarewords") / "assets" / "demo"
    lines = [
        line
        for line in (folder / "text.txt").read_text("utf-8").splitlines()
        if len(line) <= LONGEST_SENTENCE
    ]
    found = {
        word: [line for line in lines if word in line.lower() and word in words_of(line)]
        for word in (folder / "words.txt").read_text("utf-8").split()
    }
    return [{"word": word, "sentences": own[:_SAMPLE_SENTENCES]} for word, own in found.items() if own]
