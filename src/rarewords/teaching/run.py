"""The main job: text in, a model that knows its words out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rarewords.bundled import BUNDLED_NAME, DEFAULT_MODEL
from rarewords.corpus.build import build
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.sources import find_sources
from rarewords.corpus.spool import spool
from rarewords.corpus.store import Store
from rarewords.errors import InputError
from rarewords.files import file_digest
from rarewords.injection import inject, require_injectable, save_folder
from rarewords.lm import LanguageModel
from rarewords.loading import load_pretrained
from rarewords.teaching.cards import teaching_card
from rarewords.teaching.learning import Learned, learn, open_learner
from rarewords.teaching.lessons import make_lessons
from rarewords.teaching.probing import RelationScore, probe_words
from rarewords.teaching.result import Taught
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.words import ChosenWords, choose_words, store_counts
from rarewords.teaching.work import WorkFolder, content_key, work_folder
from rarewords.vectors import WordVectors

REPORT = "teaching.json"


def teach(
    texts: Sequence[str | Path],
    out: str | Path,
    *,
    words: Sequence[str] | None = None,
    model: str | Path | LanguageModel = DEFAULT_MODEL,
    corpus: str | Path | None = None,
    mimic: str | Path | None = None,
    settings: TeachSettings | None = None,
    device: str = "auto",
    field: str = "text",
    workers: int | None = None,
    keep_work: bool = False,
) -> Taught:
    """Teach a model the rare words of a text and save it as an ordinary Hugging Face folder.

    Interrupted at any point, the same call goes on where it stopped and makes the same folder.

    :param texts: files, folders, patterns, ``-`` for standard input, ``hf:name`` for a data set of the hub.
    :param out: the new model's folder; must not exist or be empty.
    :param words: what to teach; without it, the words of the text that the model cuts into fragments.
    :param model: ``default``, a folder, a hub name, or one of these already loaded.
    :param corpus: a store made from the text before, instead of ``texts``.
    :param mimic: a mimic model's folder, for the method ``am``.
    :param keep_work: keep the work folder ``out.work``, to teach again with other settings in less time.
    """
    settings = resolved(settings or TeachSettings(), words)
    out = Path(out)
    require_free(out)
    require_one_source(texts, corpus)
    lm = open_model(model, device)
    require_injectable(lm.model, predictable=settings.predictable)
    learner, learner_key = open_learner(lm, settings, mimic)
    with work_folder(out, keep=keep_work) as work:
        store, store_key = _open_store(texts, corpus, lm, settings, field, workers, work)
        chosen = _choose(store, store_key, lm, settings, words, work)
        lessons = make_lessons(store, chosen.counts, settings)
        key = content_key(lm.fingerprint, learner_key)
        learned, vectors, refused = learn(lm, learner, lessons, settings, work, key)
        refused = {**chosen.refused, **refused}
        worse = tuple(one for one in learned if one.judgement and one.judgement.gain < 0)
        kept = [one for one in learned if settings.keep_all or one not in worse]
        if not kept:
            raise InputError(_nothing_left(worse, refused))
        vectors = vectors.subset([one.word for one in kept])
        vectors = WordVectors(vectors.words, vectors.matrix, _provenance(lm, settings))
        probe_key = content_key(lm.fingerprint, settings.slash, learner_key, [asdict(one) for one in lessons])
        probed = work.json(
            "probed",
            content_key(probe_key, list(vectors.words)),
            lambda: probe_words(lm, vectors, slash=settings.slash),
        )
        work.finished("WNLaMPro")
        taught = Taught(
            folder=out,
            model=shown_name(lm.name),
            settings=settings,
            words=tuple(kept),
            worse=worse,
            refused=refused,
            scores=tuple(RelationScore(**score) for score in probed["scores"]),
            ranks=tuple(probed["ranks"]),
            unmeasured=probed["reason"],
        )
        _save(lm.name, vectors, taught, out)
        work.finished("Model")
    return taught


def require_free(out: Path) -> None:
    """Refuse a target that is not free before any work is done."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file, not a folder; choose another folder")
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out} exists and is not empty; choose another folder or remove it first")


def require_one_source(texts: Sequence[str | Path], corpus: str | Path | None) -> None:
    """Text or a store, not both and not neither."""
    if corpus is not None and texts:
        raise InputError("give --text or --corpus, not both; a store holds its text already")
    if corpus is None and not texts:
        raise InputError(
            "no text given; name files, folders or patterns with --text, or a store with --corpus"
        )


def open_model(model: str | Path | LanguageModel, device: str) -> LanguageModel:
    """A model by name, or the one given."""
    if isinstance(model, LanguageModel):
        return model
    return LanguageModel.from_pretrained(model, device=device)


def shown_name(model: str | Path) -> str:
    """A model's name for people: no path of this machine in a folder that travels."""
    if str(model) == DEFAULT_MODEL:
        return BUNDLED_NAME
    return Path(model).resolve().name if Path(model).is_dir() else str(model)


def corpus_settings(lm: LanguageModel, settings: TeachSettings) -> CorpusSettings:
    """How the text is read: capitals as the model has them."""
    return CorpusSettings(lower_case=lm.lower_case, words=settings.rule or "english")


def resolved(settings: TeachSettings, words: Sequence[str] | None) -> TeachSettings:
    """The settings with the word rule decided."""
    if settings.rule is not None:
        return settings
    return replace(settings, rule="english" if words is None else "any")


def _open_store(
    texts: Sequence[str | Path],
    corpus: str | Path | None,
    lm: LanguageModel,
    settings: TeachSettings,
    field: str,
    workers: int | None,
    work: WorkFolder,
) -> tuple[Store, str]:
    """The store of the text, and a name for its content."""
    wanted = corpus_settings(lm, settings)
    if corpus is not None:
        store = Store.open(corpus)
        if store.settings.lower_case != lm.lower_case:
            raise InputError(f"{corpus} and the model differ in lower-casing; build the store with --model")
        return store, file_digest(store.path / "store.json")
    files = spool(texts, field, work.path / "spool")
    sources = find_sources(files, field)
    contents = sorted(
        [file_digest(source.path), source.format, source.compression, source.field] for source in sources
    )
    path = work.path / f"store-{content_key(contents, wanted.to_dict())}"
    if not path.exists():
        build(files, path, wanted, field=field, workers=workers)
    store = Store.open(path)
    work.finished("Corpus")
    return store, file_digest(path / "store.json")


def _choose(
    store: Store,
    store_key: str,
    lm: LanguageModel,
    settings: TeachSettings,
    words: Sequence[str] | None,
    work: WorkFolder,
) -> ChosenWords:
    key = content_key(store_key, lm.fingerprint, settings.to_dict(), words)
    stored = work.json(
        "words", key, lambda: choose_words(store_counts(store), lm.tokens, settings, words).as_json()
    )
    chosen = ChosenWords.from_json(stored)
    if not store.totals.words:
        raise InputError("the text holds no words; check that the files are the right ones")
    chosen.require_some()
    work.finished("Words")
    return chosen


def _save(model: str, vectors: WordVectors, taught: Taught, out: Path) -> None:
    import json

    language_model, tokenizer = load_pretrained(model)
    settings = taught.settings
    injection = inject(
        language_model, tokenizer, vectors, predictable=settings.predictable, slash=settings.slash
    )
    card = teaching_card(taught, vectors, injection.ids)
    report = json.dumps(taught.as_json(), indent=1, ensure_ascii=False) + "\n"
    save_folder(language_model, tokenizer, out, card=card, more={REPORT: report})


def _provenance(lm: LanguageModel, settings: TeachSettings) -> dict[str, object]:
    return {"model": shown_name(lm.name), "fingerprint": lm.fingerprint, "teaching": settings.to_dict()}


def _nothing_left(worse: Sequence[Learned], refused: dict[str, str]) -> str:
    if worse:
        return (
            f"all {len(worse)} words read worse with a vector than in pieces, so nothing was taught; "
            "give more text, or --keep-all to teach them all the same"
        )
    word, reason = next(iter(refused.items()))
    return f"none of the {len(refused)} words could be given a vector; {word!r}: {reason}"
