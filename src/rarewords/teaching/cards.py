"""The model card of a taught model: words, counts, settings, and the answers before and after."""

from __future__ import annotations

from collections.abc import Mapping

from rarewords.card import model_card
from rarewords.report.tables import figure, markdown_table, relation_title
from rarewords.teaching.learning import Learned
from rarewords.teaching.result import Taught
from rarewords.vectors import WordVectors

_ROWS = 200


def teaching_card(taught: Taught, vectors: WordVectors, ids: Mapping[str, int]) -> str:
    """The README.md of the folder."""
    settings = taught.settings
    card = model_card(taught.model, vectors, ids, predictable=settings.predictable, slash=settings.slash)
    sections = [card, _judged(taught), _probed(taught), _words(taught), _left_out(taught)]
    return "\n".join(section for section in sections if section)


def _judged(taught: Taught) -> str:
    text = (
        "## Before and after\n\n"
        "In sentences of the text that a word's vector was not made from, neighbours of the word were "
        "masked; the figure is the mean log-probability of the true neighbour.\n\n"
    )
    if taught.held_out is None:
        return text + "No word had sentences enough to be judged.\n"
    before, after = taught.held_out
    judged = len(taught.words) - len(taught.unjudged)
    text += f"{judged:,} words judged: {before:.3f} with their pieces, {after:.3f} with their vectors.\n"
    if taught.unjudged:
        text += f"\nNot judged, for want of sentences: {', '.join(taught.unjudged)}.\n"
    return text


def _probed(taught: Taught) -> str:
    if not taught.scores:
        return f"WNLaMPro was not measured: {taught.unmeasured}.\n"
    rows = [
        [
            relation_title(score.relation),
            f"{score.words:,}",
            f"{score.entries:,}",
            figure(score.before),
            figure(score.after),
        ]
        for score in taught.scores
    ]
    table = markdown_table(["WNLaMPro", "words", "entries", "MRR before", "MRR after"], rows)
    warning = f"\n{fell_line(taught)}\n" if taught.fell else ""
    return f"The words that the WNLaMPro data set covers:\n\n{table}{warning}"


def fell_line(taught: Taught) -> str:
    """Nobody gets a model that does worse somewhere without being told."""
    relations = ", ".join(relation_title(relation) for relation in taught.fell)
    return f"By WNLaMPro the words taught are understood worse than before in: {relations}."


def _words(taught: Taught) -> str:
    rows = [_row(word) for word in taught.words[:_ROWS]]
    header = ["word", "before", "after", "count", "sentences", "held-out gain"]
    more = f"\n… and {len(taught.words) - _ROWS:,} more.\n" if len(taught.words) > _ROWS else ""
    return (
        "## Each word\n\nAnswers to `a … is a kind of _`; the gain is that of the log-probability above.\n\n"
        + markdown_table(header, rows, left=3)
        + more
    )


def _row(word: Learned) -> list[str]:
    gain = f"{word.judgement.gain:+.3f}" if word.judgement else "–"
    answers = [", ".join(one).replace("|", "\\|") for one in (word.before[:3], word.after[:3])]
    return [word.word, *answers, f"{word.count:,}", f"{word.sentences:,}", gain]


def _left_out(taught: Taught) -> str:
    lines = [
        f"- {word.word}: its vector did worse than its pieces ({word.judgement.gain:+.3f})"
        + (", taught all the same" if taught.settings.keep_all else "")
        for word in taught.worse
        if word.judgement
    ]
    lines += [f"- {word}: {reason}" for word, reason in taught.refused.items()]
    if not lines:
        return ""
    more = [f"- … and {len(lines) - _ROWS:,} more"] if len(lines) > _ROWS else []
    title = "Words that did worse, or were" if taught.settings.keep_all else "Words that were"
    return f"## {title} left out\n\n" + "\n".join([*lines[:_ROWS], *more]) + "\n"
