"""Part ``examples``: what the model answers before and after."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from experiments.paper import published
from experiments.paper.experiment import Experiment
from experiments.paper.part import Check, Claim, Part, Stage, Wait
from experiments.paper.parts.main import CONFIGURATION, LABEL, trained_embeddings
from rarewords.queries import Query

_SHOWN = 5
_COMPARED = 4  # as many answers as the paper shows


@dataclass(frozen=True)
class Replies:
    """One query and its answers.

    :param question: the query, the word cut into its subwords.
    :param count: how often the word occurs in the corpus.
    :param ours: the answers with subwords, then with the embedding of each seed.
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

    queries: tuple[Replies, ...]

    @classmethod
    def run(cls, experiment: Experiment, _: Path) -> Self:
        lm, by_seed, queries = experiment.lm, trained_embeddings(experiment), []
        labels = ["subwords", *(f"{LABEL}, seed {seed}" for seed in by_seed)]
        for word, pattern, before, after in published.EXAMPLES:
            embeddings = [None, *(learned.get(word) for learned in by_seed.values())]
            answers = lm.fill([Query(pattern, word, embedding) for embedding in embeddings], top_k=_SHOWN)
            cut = "·".join(subword.removeprefix("##") for subword in lm.tokens.text_of(lm.subwords(word)))
            question, count = pattern.replace("<W>", cut), experiment.corpus.count(word)
            ours = {label: tuple(answers.words(row)) for row, label in enumerate(labels)}
            shown = {"paper: base": before, "paper: base+AM": after}
            paper = {label: tuple(answers.split()) for label, answers in shown.items() if answers}
            queries.append(Replies(word, question, count, ours, paper))
        return cls(tuple(queries))

    @classmethod
    def stages(cls, experiment: Experiment) -> Sequence[Stage]:
        seeds = experiment.settings.training_seeds
        return [Stage(Wait.APPROXIMATIONS, partial(experiment.training, CONFIGURATION, seed)) for seed in seeds]

    def markdown(self, _: Path) -> Sequence[str]:
        rows = []
        for replies in self.queries:
            right = published.RIGHT[replies.word]
            for label, answers in {**replies.ours, **replies.paper}.items():
                shown = ", ".join(f"**{answer}**" if answer in right else answer for answer in answers)
                first = f"{replies.question} ({replies.count:,}× in the corpus)" if label == "subwords" else ""
                rows.append([first, label, shown])
        return [self.text("text", shown=_SHOWN), self.table(["query", "model", "answers"], rows, left=3)]

    def claims(self) -> Sequence[Claim]:
        checks = []
        for replies in self.queries:
            if len(replies.paper) == 2:
                right = published.RIGHT[replies.word]
                before, *after = (len(right & set(answers[:_COMPARED])) for answers in replies.ours.values())
                more = sum(number > before for number in after)
                text = f"{replies.word}: more right answers among the first four in {more} of {len(after)} seeds"
                checks.append(Check(text, more == len(after)))
        return [Claim.of("examples", *checks)]
