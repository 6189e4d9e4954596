"""A look at a text: the words that a model splits, and which of them ``teach`` would take."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rarewords._internal.cache import Cache
from rarewords.corpus.corpus import Corpus
from rarewords.corpus.sources import find_sources, spool
from rarewords.models import DEFAULT_MODEL, shown_name
from rarewords.teaching.phrases import fixed_phrases
from rarewords.teaching.prepare import Request, Texts, prepare
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.words import MissingWord, count_words, missing_words

_FEWEST_PHRASES = 4  # occurrences below which two words may stand together by chance


@dataclass(frozen=True)
class Scan:
    """What a model lacks of a text.

    :param distinct: distinct words of the text; ``split``: those that the tokenizer splits.
    :param words: the words that ``teach`` would take, in its order, and those that it would skip on the way.
    :param phrases: fixed phrases with such a word, with their counts, the highest first, if asked for.
    """

    model: str
    distinct: int
    occurrences: int
    split: int
    split_occurrences: int
    words: tuple[MissingWord, ...]
    phrases: dict[str, int]


def scan(
    texts: Texts,
    model: Any = DEFAULT_MODEL,
    *,
    phrases: bool = False,
    settings: TeachSettings | None = None,
    device: str = "auto",
    field: str = "text",
    workers: int | None = None,
) -> Scan:
    """Find the words of texts that ``teach`` with the same settings would add to a model.

    :param texts: as for :func:`rarewords.teach`.
    :param phrases: find fixed phrases of rare words as well, which takes a second pass over the texts.
    """
    settings = settings or TeachSettings()
    with TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        files: list[Path] = []
        if phrases and not isinstance(texts, Corpus):
            files = spool([texts] if isinstance(texts, str | Path) else texts, cache.path / "texts", field)
            texts = files
        request = Request(model, texts, settings=settings, device=device, field=field, workers=workers)
        prepared = prepare(request, cache)
        assert prepared.corpus is not None  # without texts there is nothing to prepare
        counts = count_words(prepared.corpus)
        missing = missing_words(counts, prepared.check.lm.tokens)
        fixed: dict[str, int] = {}
        if files:
            rare, least = {one.word for one in missing}, max(settings.min_count, _FEWEST_PHRASES)
            fixed = fixed_phrases(find_sources(files, field), rare, counts, least, prepared.check.lm.lower_case)
        return Scan(
            model=shown_name(prepared.check.lm.name),
            distinct=len(counts),
            occurrences=sum(counts.values()),
            split=len(missing),
            split_occurrences=sum(one.count for one in missing),
            words=prepared.words,
            phrases=dict(list(fixed.items())[: settings.top]),
        )
