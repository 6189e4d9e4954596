"""What ``teach``, ``scan`` and a dry run begin with: the model, the text, and the choice of words."""

import copy
import os
import re
import weakref
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rarewords._internal.cache import Cache, key_of
from rarewords._internal.files import write_lines
from rarewords._internal.progress import message
from rarewords.corpus.build import build
from rarewords.corpus.corpus import Corpus
from rarewords.corpus.read import read_chunks
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.sources import Source, TextSource, find_sources, spool
from rarewords.errors import InputError
from rarewords.injection.inject import require_injectable
from rarewords.injection.taught import forget_everything, taught_tokens
from rarewords.injection.vocabulary import takes_entries
from rarewords.learner.evidence import Learner
from rarewords.lm import LanguageModel
from rarewords.model_folder import read_report
from rarewords.models import DEFAULT_MODEL, load_tokenizer, model_folder, shown_name
from rarewords.teaching.candidates import check_for
from rarewords.teaching.check import Check
from rarewords.teaching.glossary import Glossary, GlossaryEntry, GlossarySource, read_glossary
from rarewords.teaching.learners import learner_for
from rarewords.teaching.mismatch import Readings, search
from rarewords.teaching.report import words_of
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.words import MissingWord, count_words, listed_words, missing_words, without_clutter
from rarewords.tokens import Placement

DEFINITION_ALONE = "a definition alone does not help a causal LM; give sentences that use the word, or set keep_all"
Texts = Corpus | str | Path | Iterable[TextSource]


@dataclass(frozen=True)
class Request:
    """The arguments of ``teach``, ``scan`` and a dry run; :func:`rarewords.teach` explains them."""

    model: Any = DEFAULT_MODEL
    texts: Texts | None = None
    glossary: GlossarySource | None = None
    words: Iterable[str] | None = None
    learner: Learner | str | Path | None = None
    reader_model: str | Path = DEFAULT_MODEL
    settings: TeachSettings | None = None
    device: str = "auto"
    field: str = "text"
    workers: int | None = None


@dataclass(frozen=True)
class Prepared:
    """A model, a text, and which words of it would be taught.

    :param base: the model as given, its own copy; ``check.lm`` is the same before any word was taught.
    :param words: the words in order; those that are not worth teaching say why they are skipped.
    :param readings: what a search has read of those that are.
    """

    base: LanguageModel
    corpus: Corpus | None
    glossary: Glossary
    learner: Learner
    learner_name: str
    check: Check
    words: tuple[MissingWord, ...]
    readings: Readings
    settings: TeachSettings
    placement: Placement

    @property
    def chosen(self) -> dict[str, int]:
        """The words to teach with their counts in the text."""
        return {one.word: one.count for one in self.words if not one.skipped}

    @property
    def skipped(self) -> dict[str, str]:
        """The other words, and why."""
        return {one.word: one.skipped for one in self.words if one.skipped}


def prepare(request: Request, cache: Cache) -> Prepared:
    """Open everything and choose the words."""
    terms = {} if request.glossary is None else read_glossary(request.glossary)
    given = [request.words] if isinstance(request.words, str) else request.words
    listed = list(terms) if given is None else list(given)
    if given is not None and not listed:
        raise InputError("the list of words is empty; give a word, or leave the list out", code="no-input")
    texts = _as_texts(request.texts)
    if texts is None and not terms:
        raise InputError("there is nothing to learn from; give texts, a glossary, or both", code="no-input")
    settings = request.settings or TeachSettings()
    with cache.timed("loading"):
        base = open_model(request.model, request.device)
        require_injectable(base.model, allow_prediction=settings.allow_prediction)
        words_of(base.report)  # the model card will list them
        if not listed and base.kind == "encoder" and not settings.keep_all:
            # What a search finds, encoders retrieve worse once it is taught (experiments/transfer).
            problem = f"{shown_name(base.name)} is an encoder, so its words are not searched for in a text"
            remedy = "list the words, give a glossary, or set keep_all"
            raise InputError(f"{problem}; {remedy}", code="model-kind")
        lm, earlier = _untaught(base)
        # Where the token of a word does best in a model of this kind (docs/concepts/placement.md).
        appended = lm.kind != "causal" and takes_entries(lm.tokenizer)
        placement: Placement = settings.placement or ("append" if appended else "replace")
        rule = settings.rule or ("any" if listed else "english")
        settings = replace(settings, placement=placement, rule=rule)  # as the report will have them
        glossary: defaultdict[str, GlossaryEntry] = defaultdict(GlossaryEntry)
        for term, entry in terms.items():
            glossary[lm.tokens.spelled(term)] += entry
        reader = lm
        if lm.kind != "masked":
            reader = LanguageModel.from_pretrained(request.reader_model, device=request.device)
            reader.require("masked")
        # A mistake in it shows before the text is read.
        opened = None if request.learner is None else learner_for(lm, reader, request.learner)
    with cache.timed("corpus"):
        wanted = CorpusSettings(lower_case=lm.lower_case, words=rule)
        corpus = None if texts is None else open_corpus(texts, wanted, listed, request, cache)
    with cache.timed("fitting a learner"):
        learner, learner_name = opened or learner_for(lm, reader, None, corpus)
    check = check_for(lm, reader, placement, found=not listed, question=settings.question)
    with cache.timed("looking at words"):
        readings: Readings = {}
        if listed:
            words = listed_words(listed, corpus, glossary, lm.tokens, placement, earlier)
            if lm.kind == "causal" and not settings.keep_all:
                # It reads text worse with embeddings from definitions alone (experiments/glossary).
                for place, one in enumerate(words):
                    if not (one.skipped or one.count or glossary[one.word].examples):
                        words[place] = replace(one, skipped=DEFINITION_ALONE)
        else:
            assert corpus is not None  # otherwise the glossary lists words
            frequent = {word: count for word, count in count_words(corpus).items() if count >= settings.min_count}
            split = missing_words(frequent, lm.tokens)
            candidates = without_clutter(corpus, split, lm.tokens, placement, earlier)
            words, readings = search(candidates, settings, corpus, learner, check, cache)
            if not words:
                problem = f"the text has no word to add: no split word occurs at least {settings.min_count} times"
                remedy = "give more text, lower min_count, or list the words"
                raise InputError(f"{problem}; {remedy}", code="nothing-to-teach")
    message(f"Words: {sum(not one.skipped for one in words):,} to teach")
    return Prepared(base, corpus, glossary, learner, learner_name, check, tuple(words), readings, settings, placement)


def open_model(model: Any, device: str) -> LanguageModel:
    """A model of our own: loaded by its name, or a copy of one that is loaded already."""
    if isinstance(model, str | Path):
        return LanguageModel.from_pretrained(model, device=device)
    if isinstance(model, LanguageModel):
        return model.copy()
    if hasattr(model, "get_sentence_embedding_dimension"):  # a SentenceTransformer
        # Its transformer, and a folder with its other modules, which goes when the transformer goes.
        origin = str(getattr(model.transformers_model, "name_or_path", "")) or "model"
        temporary = TemporaryDirectory(prefix="rarewords-")
        model.save_pretrained(temporary.name)
        lm = LanguageModel.from_pretrained(temporary.name, device=str(model.device))
        lm.name, lm.report = origin, read_report(origin) if Path(origin).is_dir() else {}
        weakref.finalize(lm, temporary.cleanup)
        return lm
    if not hasattr(model, "get_input_embeddings"):
        problem = f"a model must be a name, a folder or a loaded model, not a {type(model).__name__}"
        raise InputError(problem, code="model-type")
    name = str(model.name_or_path)
    if not name:
        problem = "the model was not loaded from a folder or the hub, so its tokenizer is not known"
        raise InputError(f"{problem}; give LanguageModel(model, tokenizer)", code="model-type")
    folder, own = model_folder(name), copy.deepcopy(model)
    lm = LanguageModel(own, load_tokenizer(name), name=name, folder=folder)
    lm.report = read_report(folder)
    return lm


def _untaught(base: LanguageModel) -> tuple[LanguageModel, Set[str]]:
    """A model as it was before any word was taught, and the words that it was taught.

    New words are learned with it, so that adding words in two runs gives the same result as one run.
    """
    earlier = taught_tokens(base.model, base.tokenizer)
    if not earlier:
        return base, frozenset()
    own = base.copy()
    forget_everything(own.model, own.tokenizer)
    return LanguageModel(own.model, own.tokenizer, name=base.name, folder=base.folder), frozenset(earlier)


def _as_texts(texts: Texts | None) -> Corpus | list[TextSource] | None:
    """A corpus, or at least one text; None if there is neither."""
    if texts is None or isinstance(texts, Corpus):
        return texts
    given: list[TextSource] = [texts] if isinstance(texts, str | Path) else list(texts)
    only = given[0] if len(given) == 1 else None
    # Path.is_file does not take a text that is too long for a name.
    if isinstance(only, str | Path) and os.path.isfile(Path(only, "corpus.json")):  # noqa: PTH113
        return Corpus.open(only)
    return given or None


def open_corpus(
    texts: Corpus | list[TextSource], settings: CorpusSettings, listed: Sequence[str], request: Request, cache: Cache
) -> Corpus:
    """The given corpus, or one of the texts, with the model's capitals.

    :param listed: words; phrases among them are found where a line ends within them, too.
    """
    if isinstance(texts, Corpus):
        if texts.settings.lower_case != settings.lower_case:
            problem = f"{texts.path} and the model differ in lower-casing; build the corpus for the model"
            raise InputError(problem, code="lower-case")
        return texts
    files: Sequence[str | Path] = spool(texts, cache.path / "spool", request.field)
    if phrases := [word for word in listed if len(word.split()) > 1]:
        files = on_one_line(files, phrases, request.field, cache.path / "lines")
    contents = sorted(source.digest() for source in find_sources(files, request.field))
    path = cache.path / f"corpus-{key_of(contents, asdict(settings))}"
    if not path.exists():
        build(files, path, settings, field=request.field, workers=request.workers)
    message("Corpus: done")
    return Corpus.open(path)


def on_one_line(files: Sequence[str | Path], phrases: Sequence[str], field: str, folder: Path) -> list[str]:
    """The files, with a copy in ``folder`` for each that breaks one of these phrases over two lines.

    A corpus's sentences end with their line; the copy has the two lines as one.
    """
    gap = r"(?:[^\S\n]*\n[^\S\n]*|[^\S\n]+)"
    each = (gap.join(map(re.escape, phrase.split())) for phrase in sorted(phrases, key=len, reverse=True))
    pattern = re.compile(rf"(?<![^\W_])(?:{'|'.join(each)})(?![^\W_])", re.IGNORECASE)

    def chunks(source: Source) -> Iterator[str]:
        return (chunk.text for chunk in read_chunks(source))

    result = []
    for number, source in enumerate(find_sources(files, field)):
        result.append(source.path)
        if any("\n" in found for text in chunks(source) for found in pattern.findall(text)):
            result[-1] = str(folder / f"{number}.txt")
            joined = (pattern.sub(lambda found: " ".join(found[0].split()), text) for text in chunks(source))
            write_lines(result[-1], joined)
    return result
