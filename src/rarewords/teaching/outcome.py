"""What teaching did: which words, how each was judged, what the model answers now; and the model card."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rarewords.card import CARD, model_card
from rarewords.models import Kind
from rarewords.report.tables import figure, markdown_table, relation_title
from rarewords.teaching.clutter import summary
from rarewords.teaching.judge import Judgement, Probed
from rarewords.teaching.questions import as_title
from rarewords.teaching.settings import TeachSettings
from rarewords.vectors import WordVectors


@dataclass(frozen=True)
class Learned:
    """What is known about one word.

    :param contexts: the number of contexts its vector was made from.
    :param context_share: how much of the vector comes from the contexts; the rest comes from the spelling.
    :param before: the model's first answers to ``question`` with the word's pieces.
    :param after: the same with its vector.
    :param judgement: None if nothing could be held out.
    :param question: see :class:`.questions.Shown`.
    """

    word: str
    count: int
    contexts: int
    context_share: float
    before: tuple[str, ...]
    after: tuple[str, ...]
    judgement: Judgement | None
    question: str = ""

    @property
    def probability(self) -> float | None:
        """The probability that the vector helps, if the rule can tell."""
        return self.judgement.probability if self.judgement else None

    @property
    def expected_gain(self) -> float:
        """The occurrences that are expected to be understood better; half of them if the rule cannot tell."""
        return self.count * (0.5 if self.probability is None else self.probability)

    @property
    def verdict(self) -> str:
        """``better``, ``unclear``, ``worse`` (the vector is not expected to help) or ``not judged``."""
        return self.judgement.verdict if self.judgement else "not judged"

    def as_json(self) -> dict[str, Any]:
        """Everything, with the verdict and the probability behind it."""
        return {**asdict(self), "verdict": self.verdict, "probability": self.probability}


@dataclass(frozen=True)
class Taught:
    """The report of one teaching.

    :param learner: what made the vectors: ``default``, ``am``, the name of a folder, or how it was fitted.
    :param words: the words the model was taught.
    :param worse: words left alone because their vector is not expected to help (with ``keep_all`` they are
        taught and also in ``words``).
    :param refused: words that were not tried or got no vector, and why.
    :param passed_over: words that a search of the text found to be clutter, and why.
    :param probed: what WNLaMPro says about the words taught.
    """

    folder: Path
    model: str
    learner: str
    settings: TeachSettings
    words: tuple[Learned, ...]
    worse: tuple[Learned, ...]
    refused: dict[str, str]
    passed_over: dict[str, str]
    probed: Probed
    kind: Kind = "masked"

    @property
    def measure(self) -> str:
        """What was measured in held-out contexts."""
        return str(CARD[self.kind]["measure"])

    @property
    def replaced(self) -> frozenset[str]:
        """The words whose vector stands in the place of their pieces; the others are read as both."""
        if not self.settings.slash:
            return frozenset(one.word for one in self.words)
        judged = {one.word: one.judgement for one in self.words if one.verdict != "worse"}
        return frozenset(word for word, judgement in judged.items() if judgement and judgement.replace)

    @property
    def verdicts(self) -> dict[str, int]:
        """How many words got each verdict."""
        every = {one.word: one.verdict for one in (*self.words, *self.worse)}
        return dict(Counter(every.values()).most_common())

    @property
    def unjudged(self) -> tuple[str, ...]:
        """Words taught from text that left nothing to judge by."""
        return tuple(word.word for word in self.words if word.judgement is None)

    @property
    def held_out(self) -> tuple[float, float] | None:
        """Mean log-probability of true neighbours over the judged words taught, before and after."""
        judged = [word.judgement for word in self.words if word.judgement is not None]
        if not judged:
            return None
        before, after = np.mean([(one.pieces, one.vector) for one in judged], axis=0).tolist()
        return before, after

    @property
    def fell(self) -> tuple[str, ...]:
        """The relations of WNLaMPro whose score is lower than before."""
        return tuple(score.relation for score in self.probed.scores if score.after < score.before)

    @property
    def warning(self) -> str:
        """What to do if the words taught are understood worse than before by WNLaMPro; otherwise empty."""
        if "all" not in self.fell:
            return ""
        score = self.probed.scores[-1]
        return (
            f"the words taught do worse than before on WNLaMPro: MRR {figure(score.before)} before, "
            f"{figure(score.after)} after. Prefer the original model for them, give more text, or "
            "teach a list of rare words with --words"
        )

    def as_json(self) -> dict[str, Any]:
        """Everything but the place of the folder, so that the same teaching gives the same file."""
        before, after = (round(one, 4) for one in self.held_out) if self.held_out else (None, None)
        return {
            "format": "rarewords.teaching/2",
            "model": self.model,
            "kind": self.kind,
            "learner": self.learner,
            "settings": asdict(self.settings),
            "held_out": {"before": before, "after": after},
            "wnlampro": {**asdict(self.probed), "fell": list(self.fell)},
            "warning": self.warning,
            "verdicts": self.verdicts,
            "words": [word.as_json() for word in self.words],
            "worse": [word.as_json() for word in self.worse],
            "unjudged": list(self.unjudged),
            "refused": dict(self.refused),
            "passed_over": dict(self.passed_over),
        }


_ROWS = 200


def teaching_card(
    taught: Taught, vectors: WordVectors, ids: Mapping[str, int], *, base: str | Path = ""
) -> str:
    """The README.md of the folder; ``base`` is the model's own folder, whose card may give a licence."""
    card = model_card(
        taught.model,
        vectors,
        ids,
        predictable=taught.settings.predictable,
        slash={one.word not in taught.replaced for one in taught.words},
        kind=taught.kind,
        folder=base,
    )
    sections = [write(taught) for write in (_judged, _probed, _words, _left_out)]
    return "\n".join([card, f"Made by the learner: {taught.learner}.\n", *filter(None, sections)])


def fell_line(taught: Taught) -> str:
    """A warning about the relations of WNLaMPro that got worse."""
    return f"WNLaMPro scores lower than before for: {', '.join(map(relation_title, taught.fell))}."


def _judged(taught: Taught) -> str:
    text = f"## Before and after\n\nMeasured in held-out contexts of each word: {taught.measure}.\n\n"
    if taught.held_out is None:
        return text + "No word had enough contexts to be judged.\n"
    before, after = taught.held_out
    judged = len(taught.words) - len(taught.unjudged)
    noun = "word" if judged == 1 else "words"
    text += f"{judged:,} {noun} judged: {before:.3f} with their pieces, {after:.3f} with their vectors.\n"
    if taught.unjudged:
        text += f"\nNot judged for lack of contexts: {', '.join(taught.unjudged)}.\n"
    return text


def _probed(taught: Taught) -> str:
    if not taught.probed.scores:
        return f"WNLaMPro was not measured: {taught.probed.unmeasured}.\n"
    rows = []
    for one in taught.probed.scores:
        sizes = [f"{one.words}", f"{one.entries}"]
        rows.append([relation_title(one.relation), *sizes, figure(one.before), figure(one.after)])
    table = markdown_table(["WNLaMPro", "words", "entries", "MRR before", "MRR after"], rows)
    warning = f"\n{fell_line(taught)}\n" if taught.fell else ""
    warning += f"\n**Warning:** {taught.warning}.\n" if taught.warning else ""
    return f"The words that the WNLaMPro dataset covers:\n\n{table}{warning}"


def _words(taught: Taught) -> str:
    rows = []
    for word in taught.words[:_ROWS]:
        judged = word.judgement
        gain = f"{judged.gain:+.2f} ± {judged.error:.2f}" if judged else "–"
        chance = "–" if word.probability is None else f"{word.probability:.2f}"
        answers = [", ".join(one[:3]) for one in (word.before, word.after)]
        numbers = [f"{word.count:,}", f"{word.contexts:,}", gain, chance]
        rows.append([word.word, f"`{as_title(word.question)}`", *answers, word.verdict, *numbers])
    text = ["word", "question", "before", "after", "verdict"]
    numbers = ["count", "contexts", "held-out gain", "helps, p"]
    table = markdown_table([*text, *numbers], rows, left=len(text))
    more = f"\n… and {len(taught.words) - _ROWS:,} more.\n" if len(taught.words) > _ROWS else ""
    return f"## Each word\n\n{CARD[taught.kind]['each_word']}\n\n{table}{more}"


def _left_out(taught: Taught) -> str:
    taught_anyway = ", taught anyway" if taught.settings.keep_all else ""
    lines = [
        f"- {word.word}: its vector is not expected to help ({word.judgement.reason}){taught_anyway}"
        for word in taught.worse
        if word.judgement
    ]
    lines += [f"- {word}: {reason}" for word, reason in taught.refused.items()]
    lines += [f"- passed over, {line}" for line in summary(taught.passed_over)]
    if not lines:
        return ""
    more = [f"- … and {len(lines) - _ROWS:,} more"] if len(lines) > _ROWS else []
    title = "Words that do worse or are left out" if taught_anyway else "Words left out"
    return f"## {title}\n\n" + "\n".join([*lines[:_ROWS], *more]) + "\n"
