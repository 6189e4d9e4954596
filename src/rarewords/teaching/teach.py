"""The main job: texts or a glossary in, a model that knows the words out."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rarewords._internal.cache import Cache, open_cache
from rarewords._internal.progress import message
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.injection.forms import begin_other_words
from rarewords.learner.evidence import Learner
from rarewords.models import DEFAULT_MODEL
from rarewords.teaching.candidates import NOTHING, learn_and_check
from rarewords.teaching.forms import entries_with_forms
from rarewords.teaching.glossary import GlossarySource
from rarewords.teaching.holdout import hold_out
from rarewords.teaching.prepare import Prepared, Request, Texts, prepare
from rarewords.teaching.report import TeachResult, WordReport
from rarewords.teaching.settings import TeachSettings


def teach(
    model: Any = DEFAULT_MODEL,
    *,
    texts: Texts | None = None,
    glossary: GlossarySource | None = None,
    words: Iterable[str] | None = None,
    learner: Learner | str | Path | None = None,
    reader_model: str | Path = DEFAULT_MODEL,
    settings: TeachSettings | None = None,
    device: str = "auto",
    field: str = "text",
    workers: int | None = None,
    work: str | Path | None = None,
) -> TeachResult:
    """Add words to a model, from sentences that use them, from definitions, or from both.

    >>> result = teach(glossary={"paxlovid": "an antiviral pill against COVID-19"})  # doctest: +SKIP
    >>> result.save_pretrained("taught")  # doctest: +SKIP

    :param model: a masked LM, a sentence-transformers encoder or a causal LM: ``default`` (the bundled masked
        LM), a folder, a hub name, or a loaded model, which is not changed.
    :param texts: sentences, paths, patterns, any iterable of them, or a :class:`Corpus`. A string that names
        an existing file or folder is read as one; any other string is a text.
    :param glossary: definitions, as a dict or as a CSV, TSV, JSON lines or Markdown file.
    :param words: the words to add; by default the terms of the glossary, or without one the words of the
        texts that would improve most.
    :param learner: what makes the embeddings: a learner, its folder, or ``am`` for the attentive mimicking
        model that ships; by default the best learner for the model.
    :param reader_model: the masked LM that reads your sentences if ``model`` is an encoder or a causal LM.
    :param field: the field that holds the text in JSON lines, CSV, TSV and Parquet files and in records.
    :param workers: processes that read the texts; by default one per core.
    :param work: a folder that keeps finished work, so that the same call resumes after an interruption.
    """
    request = Request(model, texts, glossary, words, learner, reader_model, settings, device, field, workers)
    with open_cache(work) as cache:
        return run(request, cache)


def run(request: Request, cache: Cache) -> TeachResult:
    """Choose words, make an embedding for each, check it, and add those that help to the model."""
    prepared = prepare(request, cache)
    lm, settings = prepared.base, prepared.settings
    holdouts = hold_out(prepared.corpus, prepared.chosen, settings, prepared.glossary)
    reports, embeddings = learn_and_check(prepared.learner, prepared.check, holdouts, cache, prepared.readings)
    skipped = prepared.skipped | {word: NOTHING for word in prepared.chosen if word not in embeddings}
    taught = [one.word for one in reports if settings.keep_all or one.verdict != "worse"]
    message(f"Embeddings: {len(taught):,} words to teach")
    if not taught:
        reasons = skipped | {one.word: one.check.reason for one in reports if one.check}
        word, reason = next(iter(reasons.items()))
        many = "the word was not added" if len(reasons) == 1 else f"none of the {len(reasons)} words was added"
        remedy = "give more sentences or a definition, or set keep_all to add words that do worse"
        raise InputError(f"{many}; {word!r}: {reason}; {remedy}", code="nothing-to-teach")
    reports = _inject(prepared, embeddings.subset(taught), reports)
    result = TeachResult(lm, prepared.learner_name, settings, tuple(reports), skipped, earlier=lm.report)
    lm.report = result.report()  # for whoever saves it, or teaches it again
    return result


def _inject(prepared: Prepared, embeddings: WordEmbeddings, reports: list[WordReport]) -> list[WordReport]:
    """Add words and their forms to the model; the reports then name the forms."""
    lm, corpus, placement = prepared.base, prepared.corpus, prepared.placement
    apart = begin_other_words(embeddings.words, corpus.counts()[0] if corpus else ())
    count = corpus.count if corpus else lambda _: 0
    rows, forms = entries_with_forms(embeddings, lm, placement=placement, whole=apart, count=count)
    whole = [*apart, *(form for word in apart for form in forms[word])]
    lm.add_words(rows, placement=placement, allow_prediction=prepared.settings.allow_prediction, whole=whole)
    return [replace(one, forms=forms.get(one.word, ()), apart=apart.get(one.word, "")) for one in reports]
