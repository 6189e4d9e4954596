"""What teaching did: which words, how each was checked, what the model says now; and the taught model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rarewords._internal.schema import parse
from rarewords._internal.tables import markdown_table
from rarewords.arithmetic import reading_type
from rarewords.errors import InputError
from rarewords.injection.card import KINDS, model_card, without_forms
from rarewords.injection.inject import save_folder
from rarewords.injection.taught import taught_tokens
from rarewords.lm import LanguageModel
from rarewords.model_folder import REPORT, is_sentence_transformer
from rarewords.models import Kind, shown_name
from rarewords.teaching.ask import as_title
from rarewords.teaching.check import CheckResult
from rarewords.teaching.clutter import summary
from rarewords.teaching.settings import TeachSettings

_ROWS = 200  # of the card's tables


@dataclass(frozen=True)
class WordReport:
    """What is known about one word that got an embedding.

    :param contexts: the number of sentences its embedding was made from.
    :param context_share: how much of the embedding comes from sentences and definitions; the rest comes from
        the spelling.
    :param before: what the model said to ``question`` with the word's subwords; see :class:`WordAnswers`.
    :param after: the same with its embedding.
    :param check: None if nothing could be held out.
    :param forms: other forms of the word that come along with it.
    :param apart: a word that begins like it and is kept apart, such as ``curacao`` from ``cur``.
    """

    word: str
    count: int
    contexts: int
    context_share: float
    before: tuple[str, ...]
    after: tuple[str, ...]
    check: CheckResult | None
    question: str = ""
    forms: tuple[str, ...] = ()
    apart: str = ""

    @property
    def verdict(self) -> str:
        """``better``, ``unclear``, ``worse`` or ``not checked``; a word that is worse is skipped."""
        return self.check.verdict if self.check else "not checked"

    @property
    def gain(self) -> float | None:
        """The change of the log-probability in held-out sentences."""
        return self.check.gain if self.check else None

    def as_json(self) -> dict[str, Any]:
        """Everything, with the verdict and its reason."""
        reason = self.check.reason if self.check else "no sentence to check it with"
        return {**asdict(self), "verdict": self.verdict, "reason": reason}


@dataclass(frozen=True)
class TeachResult:
    """A model with its new words, and a report on each.

    :param language_model: the taught model and its tokenizer.
    :param learner: what made the embeddings: ``default``, ``am``, the name of a folder, or how it was fitted.
    :param words: every word that got an embedding, also those that are worse and were not added.
    :param skipped: words that got no embedding, and why.
    :param earlier: the report of the folder that was taught again.
    """

    language_model: LanguageModel
    learner: str
    settings: TeachSettings
    words: tuple[WordReport, ...]
    skipped: dict[str, str]
    earlier: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        worse = len(self.words) - len(self.taught)
        return f"TeachResult({len(self.taught)} words added, {worse} worse, {len(self.skipped)} skipped)"

    @cached_property
    def model(self) -> Any:
        """The taught model: of Transformers, or a ``SentenceTransformer`` if it was made from one."""
        folder = self.language_model.folder
        if folder is None or not is_sentence_transformer(folder):
            return self.language_model.model
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            problem = "this needs sentence-transformers: pip install sentence-transformers"
            raise InputError(problem, code="missing-extra") from None
        with TemporaryDirectory() as temporary:
            self.save_pretrained(Path(temporary) / "taught")
            return SentenceTransformer(f"{temporary}/taught", device=str(self.language_model.device))

    @property
    def tokenizer(self) -> Any:
        """The tokenizer that knows the new words."""
        return self.language_model.tokenizer

    @property
    def base(self) -> str:
        """The name of the model that the words were added to."""
        return str(self.earlier.get("model") or shown_name(self.language_model.name))

    @property
    def taught(self) -> tuple[WordReport, ...]:
        """The words that were added."""
        return tuple(one for one in self.words if self.settings.keep_all or one.verdict != "worse")

    @property
    def worse(self) -> tuple[WordReport, ...]:
        """The words that do worse, which are added only with ``keep_all``."""
        return tuple(one for one in self.words if one.verdict == "worse")

    @cached_property
    def all_words(self) -> list[str]:
        """Every added word of the model, those of earlier runs first."""
        lm = self.language_model
        return without_forms(taught_tokens(lm.model, lm.tokenizer), lm.tokenizer, self.report())

    @property
    def verdicts(self) -> dict[str, int]:
        """How many words got each verdict."""
        return dict(Counter(one.verdict for one in self.words).most_common())

    @property
    def measure(self) -> str:
        """What was measured in held-out sentences."""
        return str(KINDS[self.language_model.kind]["measure"])

    @property
    def held_out(self) -> tuple[float, float] | None:
        """The mean score of the checked words that were added, before and after; None if none was checked."""
        checked = [one.check for one in self.taught if one.check is not None]
        if not checked:
            return None
        before, after = np.mean([(one.subwords, one.embedding) for one in checked], axis=0).tolist()
        return before, after

    def save_pretrained(self, folder: str | Path) -> None:
        """Write an ordinary model folder with a model card and the report, ``teaching.json``."""
        lm = self.language_model
        save_folder(lm.model, lm.tokenizer, folder, base=lm.folder, card=self.card(), report=self.report())

    def push_to_hub(self, name: str, *, token: str | None = None, private: bool | None = None, **options: Any) -> str:
        """Upload the folder to the Hugging Face Hub; returns its address.

        :param name: the repository, such as ``me/taught``; it is created if it does not exist.
        :param options: passed on to ``HfApi.upload_folder``: ``revision``, ``commit_message``, …
        """
        from huggingface_hub import HfApi

        api = HfApi(token=token)
        name = api.create_repo(name, exist_ok=True, private=private).repo_id  # with its owner
        if revision := options.get("revision"):
            api.create_branch(name, branch=revision, exist_ok=True)
        with TemporaryDirectory() as folder:
            self.save_pretrained(Path(folder) / "taught")
            return str(api.upload_folder(repo_id=name, folder_path=f"{folder}/taught", **options))

    def report(self) -> dict[str, Any]:
        """What ``teaching.json`` holds: this teaching and the earlier ones."""
        earlier = dict(self.earlier)
        before = [*earlier.pop("earlier", ()), earlier] if earlier else []
        return {**self.as_json(), "earlier": before}

    def as_json(self) -> dict[str, Any]:
        """Everything but the model and the earlier reports; the same teaching gives the same file."""
        before, after = (round(one, 4) for one in self.held_out) if self.held_out else (None, None)
        return {
            "format": "rarewords.teaching/3",
            "model": self.base,
            "kind": self.language_model.kind,
            "learner": self.learner,
            "read_in": str(reading_type(self.language_model.device)).removeprefix("torch."),
            "settings": asdict(self.settings),
            "held_out": {"before": before, "after": after},
            "verdicts": self.verdicts,
            "words": [one.as_json() for one in self.taught],
            "worse": [one.as_json() for one in self.worse],
            "skipped": dict(self.skipped),
        }

    def card(self) -> str:
        """The model card."""
        lm = self.language_model
        sections = [_checked(self), _table((*words_of(self.earlier), *self.taught), lm.kind), _left_out(self)]
        return model_card(
            self.base,
            self.all_words,
            allow_prediction=self.settings.allow_prediction,
            kind=lm.kind,
            folder=lm.folder,
            details="\n".join(filter(None, sections)),
            gain=None if self.held_out is None else self.held_out[1] - self.held_out[0],
        )


def words_of(report: Mapping[str, Any]) -> list[WordReport]:
    """The words of a report and of those before it."""
    words = [word for one in (*report.get("earlier", ()), report) for word in one.get("words", ())]
    return [parse(WordReport, one, REPORT, "teach the original model") for one in words]


def _checked(result: TeachResult) -> str:
    text = f"Measured in held-out sentences of each word: {result.measure}. "
    if result.held_out is None:
        return text + "No word had enough sentences to be checked.\n"
    before, after = result.held_out
    unchecked = [one.word for one in result.taught if one.check is None]
    number = len(result.taught) - len(unchecked)
    text += f"{number:,} {'word' if number == 1 else 'words'} checked: "
    text += f"{before:.3f} with their subwords, {after:.3f} with their embeddings.\n"
    if unchecked:
        text += f"\nNot checked, because there were too few sentences: {', '.join(unchecked)}.\n"
    return text


def _table(words: Sequence[WordReport], kind: Kind) -> str:
    header = ["word", "question", "before", "after", "verdict", "count", "sentences", "gain"]
    rows = []
    for word in words[:_ROWS]:
        notes = [f"also {', '.join(word.forms)}"] if word.forms else []
        notes += [f"kept apart from {word.apart}"] if word.apart else []
        shown = f"{word.word} ({'; '.join(notes)})" if notes else word.word
        answers = [", ".join(one[:3]) for one in (word.before, word.after)]
        gain = f"{word.check.gain:+.2f} ± {word.check.error:.2f}" if word.check else "–"
        numbers = [f"{word.count:,}", f"{word.contexts:,}", gain]
        rows.append([shown, f"`{as_title(word.question)}`", *answers, word.verdict, *numbers])
    more = f"\n… and {len(words) - _ROWS:,} more.\n" if len(words) > _ROWS else ""
    return f"{KINDS[kind]['each_word']}\n\n{markdown_table(header, rows, left=5)}{more}"


def _left_out(result: TeachResult) -> str:
    kept = ", added anyway" if result.settings.keep_all else ""
    lines = [f"- {one.word}: {one.check.reason}{kept}" for one in result.worse if one.check][:_ROWS]
    lines += [f"- {line}" for line in summary(result.skipped)]
    return "\n".join(["## Skipped words\n", *lines, ""]) if lines else ""
