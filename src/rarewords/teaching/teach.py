"""The main job: text in, a model that knows its words out."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from rarewords.corpus.build import build
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.sources import find_sources, spool
from rarewords.corpus.store import Store
from rarewords.errors import HopelessError, InputError
from rarewords.files import from_json, understood
from rarewords.forget import forget_everything, taught_tokens
from rarewords.injection import inject, require_injectable, save_folder, unfit_words
from rarewords.lm import LanguageModel
from rarewords.model_folder import REPORT, read_report
from rarewords.models import DEFAULT_MODEL, load_pretrained, model_kind, shown_name
from rarewords.progress import message
from rarewords.stages import Stages, key_of, require_free, work_beside
from rarewords.teaching.glossary import GlossaryEntry, GlossarySource, read_glossary
from rarewords.teaching.judge import probe_words
from rarewords.teaching.learners import learner_for
from rarewords.teaching.learning import NOTHING, learn, those_that_gain
from rarewords.teaching.outcome import Learned, Taught, teaching_card
from rarewords.teaching.phrases import on_one_line, with_capitals
from rarewords.teaching.scan import choose_words
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.splits import split_words
from rarewords.vectors import WordVectors


def teach(
    texts: Sequence[str | Path],
    out: str | Path,
    *,
    glossary: GlossarySource | None = None,
    words: Sequence[str] | None = None,
    model: str | Path | LanguageModel = DEFAULT_MODEL,
    corpus: str | Path | None = None,
    learner: str | Path | None = None,
    reader: str | Path = DEFAULT_MODEL,
    settings: TeachSettings | None = None,
    device: str = "auto",
    field: str = "text",
    workers: int | None = None,
    keep_work: bool = False,
) -> Taught:
    """Teach a model the rare words of a text and save it as an ordinary Hugging Face folder.

    After an interruption the same call resumes and makes the same folder.

    :param texts: files, folders, patterns, ``-`` for standard input.
    :param out: the new model's folder; must not exist or be empty.
    :param glossary: definitions of words, as a dict or as a CSV, TSV, JSON lines or Markdown file; no text is
        needed then, and sentences of a text count as well.
    :param words: the words to teach, which an encoder needs; by default the terms of the glossary, or without
        one the words of the text that the model splits into fragments.
    :param model: ``default``, a folder, a hub name, or a model that is already loaded: a masked LM, a
        sentence-transformers folder, an encoder or a causal LM.
    :param corpus: a store of the text, instead of ``texts``.
    :param learner: a learner's folder, or ``am`` for the attentive mimicking model that ships; by default the
        best learner for the model, fitted on the text if none ships for it.
    :param reader: a masked LM that reads the sentences for a model that is none.
    :param keep_work: keep the work folder, so that teaching again with other settings takes less time.
    """
    settings = settings or TeachSettings()
    task = Task(
        texts, Path(out), settings, glossary, words, model, corpus, learner, reader, device, field, workers
    )
    settings, words, lm = task.settings, task.words, task.open_model()
    given = None if learner is None else learner_for(lm, learner, reader)
    with work_beside(task.out, keep=keep_work) as stages:
        store = task.open_store(lm, stages)
        entries = task.entries(lm)
        chosen = choose_words(store, lm.tokens, settings, words, entries)
        maker, learner_name = given or learner_for(lm, None, reader, store)
        if words is None and store is not None:
            chosen = those_that_gain(maker, store, chosen, settings, stages)
        message(f"Words: {len(chosen.counts):,} to teach, {len(chosen.refused):,} refused")
        splits = split_words(store, chosen.counts, settings, entries)
        learned, made = learn(lm, maker, splits, settings, stages, listed=words is not None)
        worse = tuple(one for one in learned if one.verdict == "worse")
        kept = tuple(one for one in learned if settings.keep_all or one.verdict != "worse")
        message(f"Vectors: {len(kept):,} words to teach, {len(worse):,} left alone")
        if not kept:
            none = (
                f"none of the {len(chosen.counts)} words is expected to be understood better: nothing taught"
            )
            raise HopelessError(f"{none}; give more text, or set keep_all = true (--settings)")
        name = read_report(lm.name).get("model") or shown_name(lm.name)
        made_from = {"model": name, "fingerprint": lm.fingerprint, "teaching": asdict(settings)}
        own = made.subset(one.word for one in kept)
        vectors = WordVectors(own.words, own.matrix, made_from)
        taught = Taught(
            folder=task.out,
            model=name,
            learner=learner_name,
            settings=settings,
            words=kept,
            worse=worse,
            refused=chosen.refused | {word: NOTHING for word in chosen.counts if word not in made},
            passed_over=chosen.passed_over,
            probed=probe_words(lm, vectors, slash=settings.slash),
            kind=lm.kind,
        )
        save_taught(lm, vectors, taught)
    return taught


@dataclass
class Task:
    """The arguments of :func:`teach`, and what a teaching and its plan begin with."""

    texts: Sequence[str | Path]
    out: Path
    settings: TeachSettings
    glossary: GlossarySource | None = None
    words: Sequence[str] | None = None
    model: str | Path | LanguageModel = DEFAULT_MODEL
    corpus: str | Path | None = None
    learner: str | Path | None = None
    reader: str | Path = DEFAULT_MODEL
    device: str = "auto"
    field: str = "text"
    workers: int | None = None

    def __post_init__(self) -> None:
        self.terms = {} if self.glossary is None else read_glossary(self.glossary)
        if self.words is None and self.terms:
            self.words = list(self.terms)
        rule = self.settings.rule or ("english" if self.words is None else "any")
        self.settings = replace(self.settings, rule=rule)

    def open_model(self) -> LanguageModel:
        """Check the arguments before any work, and load the model."""
        require_free(self.out)
        if bool(self.texts) == (self.corpus is not None) and (self.texts or not self.terms):
            raise InputError(
                "give a glossary, text (files, folders or patterns), or a corpus instead of text"
            )
        loaded = self.model if isinstance(self.model, LanguageModel) else None
        name = loaded.name if loaded else str(self.model)
        kind = model_kind(name)  # a loaded model has to have a folder as well, for the copy that is taught
        if kind == "encoder" and self.words is None and not self.settings.keep_all:
            # Taught what a search finds, encoders retrieve worse (docs/results/everywhere.md).
            raise InputError(
                f"{shown_name(name)} is an encoder, which reads most words that a search finds well in "
                "pieces; list names it cannot know with --words (`rarewords scan --model` shows candidates)"
            )
        lm = loaded or LanguageModel.from_pretrained(name, device=self.device, kind=kind)
        require_injectable(lm.model, predictable=self.settings.predictable)
        taught = taught_tokens(lm.model, lm.tokenizer)
        if taught:
            # The model as it was learns the new words, so that two goes equal one.
            own, tokenizer = load_pretrained(lm.name, lm.kind)
            forget_everything(own, tokenizer)
            lm = LanguageModel(
                own.to(device=lm.device, dtype=lm.dtype), tokenizer, name=lm.name, kind=lm.kind
            )
            lm.tokens.taught = frozenset(taught)
        return lm

    def entries(self, lm: LanguageModel) -> dict[str, GlossaryEntry]:
        """The glossary, by its terms as the model spells them."""
        found: dict[str, GlossaryEntry] = {}
        for term, entry in self.terms.items():
            word = lm.tokens.spelled(term)
            found[word] = found.get(word, GlossaryEntry()) + entry
        return found

    def open_store(self, lm: LanguageModel, stages: Stages) -> Store | None:
        """The given store, or one made from the text in the work folder, with the model's capitals."""
        if not self.texts and self.corpus is None:
            return None
        if self.corpus is not None:
            store = Store.open(self.corpus)
            if store.settings.lower_case != lm.lower_case:
                raise InputError(f"{self.corpus} and the model differ in lower-casing; build it with --model")
            return store
        wanted = CorpusSettings(lower_case=lm.lower_case, words=self.settings.rule or "english")
        files = spool(self.texts, stages.path / "spool")
        phrases = [word for word in self.words or () if len(word.split()) > 1]
        if phrases:
            files = on_one_line(files, phrases, self.field, stages.path / "lines")
        contents = sorted(source.digest() for source in find_sources(files, self.field))
        path = stages.path / f"store-{key_of(contents, wanted.to_dict())}"
        if not path.exists():
            build(files, path, wanted, field=self.field, workers=self.workers)
        message("Corpus: done")
        return Store.open(path)


def save_taught(lm: LanguageModel, vectors: WordVectors, taught: Taught) -> None:
    """Write the folder: each word in the way that it was judged best."""
    language_model, tokenizer = load_pretrained(lm.name, lm.kind)
    forms = with_capitals(vectors.words, lm.tokens, slash=taught.settings.slash)
    alone = taught.replaced
    replaced = [form for form, word in forms.items() if word in alone]
    if taught.settings.slash:
        unfit = unfit_words(tokenizer, replaced, slash=False)
        replaced = [form for form in replaced if form not in unfit]
    beside = [form for form in forms if form not in set(replaced)]
    predictable = taught.settings.predictable
    for own, slash in ((beside, True), (replaced, False)):
        if own:
            given = WordVectors(own, np.stack([vectors[forms[form]] for form in own]))
            inject(language_model, tokenizer, given, predictable=predictable, slash=slash)
    before = read_report(lm.name)
    earlier = [*before.pop("earlier", ()), before] if before else []
    with understood(Path(lm.name) / REPORT, "teach the original model"):
        known = tuple(from_json(Learned, word) for one in earlier for word in one["words"])
    ids = taught_tokens(language_model, tokenizer)
    card = teaching_card(replace(taught, words=(*known, *taught.words)), vectors, ids, base=lm.name)
    report = {**taught.as_json(), "earlier": earlier}
    save_folder(language_model, tokenizer, taught.folder, base=lm.name, card=card, report=report)
