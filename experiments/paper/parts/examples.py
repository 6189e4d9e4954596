"""Part ``examples``: what the model answers before and after."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from experiments.paper import published
from experiments.paper.experiment import Experiment
from experiments.paper.part import Check, Claim, Part
from experiments.paper.parts.main import CONFIGURATION, LABEL, trained
from rarewords.lm import Query

_SHOWN = 5
_COMPARED = 4  # as many answers as the paper shows


@dataclass(frozen=True)
class Answered:
    """One query and its answers.

    :param question: the query, the word cut into its pieces.
    :param count: how often the word occurs in the corpus.
    :param ours: the answers with pieces, then with the vector of each seed.
    :param paper: the answers the paper shows, of BERT-base and of BERT-base with AM.
    """

    word: str
    question: str
    count: int
    ours: dict[str, tuple[str, ...]]
    paper: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class ExamplesPart(Part):
    """The tables of examples."""

    name = "examples"
    title = "Example queries"
    trains = (CONFIGURATION,)

    queries: tuple[Answered, ...]

    @classmethod
    def run(cls, experiment: Experiment, _: Path) -> Self:
        lm, made, queries = experiment.lm, trained(experiment), []
        labels = ["pieces", *(f"{LABEL}, seed {seed}" for seed in made)]
        for word, pattern, before, after in published.EXAMPLES:
            vectors = [None, *(one.get(word) for one in made.values())]
            found = lm.fill([Query(pattern, word, vector) for vector in vectors], top_k=_SHOWN)
            cut = "·".join(piece.removeprefix("##") for piece in lm.tokens.text_of(lm.pieces(word)))
            question, count = pattern.replace("<W>", cut), experiment.store.count(word)
            ours = {label: tuple(found.words(row)) for row, label in enumerate(labels)}
            shown = {"paper: base": before, "paper: base+AM": after}
            paper = {label: tuple(answers.split()) for label, answers in shown.items() if answers}
            queries.append(Answered(word, question, count, ours, paper))
        return cls(tuple(queries))

    def markdown(self, _: Path) -> Sequence[str]:
        rows = []
        for one in self.queries:
            right = published.RIGHT[one.word]
            for label, answers in {**one.ours, **one.paper}.items():
                shown = ", ".join(f"**{answer}**" if answer in right else answer for answer in answers)
                first = f"{one.question} ({one.count:,}× in the corpus)" if label == "pieces" else ""
                rows.append([first, label, shown])
        return [self.said("text", shown=_SHOWN), self.table(["query", "model", "answers"], rows, left=3)]

    def claims(self) -> Sequence[Claim]:
        checks = []
        for one in self.queries:
            if len(one.paper) == 2:
                right = published.RIGHT[one.word]
                own, *others = (len(right & set(answers[:_COMPARED])) for answers in one.ours.values())
                more = sum(number > own for number in others)
                text = f"{one.word}: more right answers among the first four in {more} of {len(others)} seeds"
                checks.append(Check(text, more == len(others)))
        return [Claim.of("examples", *checks)]
