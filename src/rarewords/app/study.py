"""What the page shows about a word: answers before and after, nearest words, the verdict; and its folder."""

import re
from dataclasses import dataclass
from importlib.resources import files
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import torch

from rarewords.corpus.store import Context
from rarewords.corpus.text import words_of
from rarewords.errors import InputError
from rarewords.injection import inject_folder
from rarewords.lm import LanguageModel, Query
from rarewords.mimic.masked import find_word
from rarewords.mimic.readings import KnownWords
from rarewords.stages import Stages
from rarewords.teaching.learners import Learner
from rarewords.teaching.learning import NOTHING, learn
from rarewords.teaching.questions import QUESTIONS, is_english, use_of, with_article
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.splits import split_spans
from rarewords.tokens import BLANK, WORD_SLOT
from rarewords.vectors import WordVectors

# Limits on a request; they keep an answer within a second.
MOST_SENTENCES = 24
LONGEST_SENTENCE = 600
LONGEST_WORD = 40
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
    def parse(cls, sent: Any) -> Self:
        """Check a request; whatever is wrong is an :class:`InputError` that a visitor can act on."""
        asked: Any = sent if isinstance(sent, dict) else {}
        word, sentences, question = asked.get("word"), asked.get("sentences"), asked.get("question", "")
        if not isinstance(sentences, list) or not all(
            isinstance(text, str) for text in (word, question, *sentences)
        ):
            raise InputError("send an object with a word and a list of sentences, all of them text")
        word, question = word.strip(), " ".join(question.split())
        lines = tuple(" ".join(sentence.split()) for sentence in sentences if sentence.strip())
        if len(word) > LONGEST_WORD or not re.fullmatch(r"[^\W_]+(?:[-.'’][^\W_]+)*\.?", word):
            raise InputError(f"type one word of at most {LONGEST_WORD} letters")
        if re.search("[\ud800-\udfff]", "".join([question, *lines])):
            raise InputError("the text holds half of a character; type it again")
        if not lines:
            raise InputError("type at least one sentence with the word in it, one per line")
        if len(lines) > MOST_SENTENCES:
            raise InputError(f"{len(lines)} sentences are too many; type at most {MOST_SENTENCES}")
        texts = {f"sentence {number}": line for number, line in enumerate(lines, 1)}
        for name, text in {**texts, "the question": question}.items():
            if len(text) > LONGEST_SENTENCE:
                raise InputError(f"{name} is longer than {LONGEST_SENTENCE} characters; shorten it")
        return cls(word, lines, question)


class Study:
    """A model and a learner that answer one request at a time; the server sees to the turns."""

    def __init__(self, lm: LanguageModel, learner: Learner) -> None:
        self.lm, self.learner, self.settings = lm, learner, TeachSettings()
        self._known = KnownWords.of(lm)

    def answer(self, request: Request) -> dict[str, Any]:
        """Everything the page shows about a word, but for the verdict."""
        word = self._checked(request)
        patterns = self._patterns(word, request)
        inferred = self.learner.infer(word, request.sentences)
        queries = [Query(pattern, word) for pattern in patterns]
        queries += [Query(pattern, word, inferred.vector, self.settings.slash) for pattern in patterns]
        answers = self.lm.fill(queries, top_k=_ANSWERS)
        ids, cosines = self._known.nearest(torch.from_numpy(inferred.vector)[None], _NEIGHBOURS)
        neighbours = zip(self.lm.tokens.text_of(ids[0].tolist()), cosines[0].tolist(), strict=True)
        return {
            "word": word,
            "pieces": self.lm.tokens.piece_strings(self.lm.pieces(word)),
            "questions": [
                {
                    "question": pattern.replace(WORD_SLOT, word),
                    "before": answers.as_json(row),
                    "after": answers.as_json(row + len(patterns)),
                }
                for row, pattern in enumerate(patterns)
            ],
            "context_share": round(inferred.context_share, 4),
            "sentences": [
                {"sentence": sentence, "weight": round(weight, 4)}
                for sentence, weight in zip(request.sentences, inferred.weights, strict=True)
            ],
            "neighbours": [{"word": name, "similarity": round(value, 4)} for name, value in neighbours],
        }

    def judge(self, request: Request) -> dict[str, Any]:
        """The verdict of ``rarewords teach`` on the word, from sentences held out in turn."""
        word, lower = self._checked(request), self.lm.lower_case
        found = {one: find_word(word, one, lower_case=lower) for one in request.sentences}
        spans = [Context(one, *place) for one, place in found.items() if place is not None]
        split = split_spans(word, len(spans), spans, self.settings)
        with TemporaryDirectory() as folder:
            learned, _ = learn(self.lm, self.learner, [split], self.settings, Stages(Path(folder)))
        if not learned:
            raise InputError(NOTHING)
        (one,) = learned
        reason = one.judgement.reason if one.judgement else "type at least two sentences"
        return {"word": word, "verdict": one.verdict, "reason": reason}

    def save(self, request: Request) -> dict[str, Any]:
        """Save the model with the word as a Hugging Face folder in this folder, under a name that is free."""
        word, slash = self._checked(request), self.settings.slash
        vector = self.learner.infer(word, request.sentences).vector
        places = (Path.cwd() / (f"taught-{word}" + (f"-{number}" if number else "")) for number in count())
        out = next(place for place in places if not place.exists())
        inject_folder(self.lm.name, WordVectors([word], vector[None]), out, slash=slash)
        return {"word": word, "folder": out.name, "place": str(out)}

    def _checked(self, request: Request) -> str:
        """The word as the model spells it; every sentence must contain it."""
        word = request.word.lower() if self.lm.lower_case else request.word
        for number, sentence in enumerate(request.sentences, 1):
            if word not in words_of(sentence, lower_case=self.lm.lower_case):
                raise InputError(f"sentence {number} does not contain the word “{request.word}”")
        return word

    def _patterns(self, word: str, request: Request) -> list[str]:
        patterns = []
        if request.question:
            alone = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
            own = alone.sub(WORD_SLOT, request.question, count=1)
            if WORD_SLOT not in own or len(BLANK.findall(own)) != 1:
                raise InputError(f"your question needs the word “{word}” and one _ for the blank")
            if self.lm.tokens.mask_token in own or own.count(WORD_SLOT) > 1:
                raise InputError("write the blank as _ and the word as itself")
            patterns.append(own)
        if is_english(request.sentences):  # otherwise the nearest words say more than a wrong sentence
            use = use_of(word, request.sentences, lower_case=self.lm.lower_case)
            patterns += [with_article(QUESTIONS[use], word), f'"{WORD_SLOT}" refers to a _.']
            patterns += [f"the {WORD_SLOT} and the _."]
        return patterns


def samples() -> list[dict[str, Any]]:
    """The words of the demo with some of their sentences."""
    folder = files("rarewords") / "assets" / "demo"
    text = (folder / "text.txt").read_text("utf-8")
    lines = [line for line in text.splitlines() if len(line) <= LONGEST_SENTENCE]
    found = {
        word: [line for line in lines if word in line.lower() and word in words_of(line)]
        for word in (folder / "words.txt").read_text("utf-8").split()
    }
    return [{"word": word, "sentences": own[:_SAMPLE_SENTENCES]} for word, own in found.items() if own]
