"""A page to try words on: type a word with sentences or a definition, see what the model makes of it.

rarewords serve                       # on this machine
python examples/space/app.py          # the same, or as a Hugging Face Space
"""

import re
from functools import partial
from html import escape
from typing import Any

import gradio as gr
import torch

from rarewords import InputError, LanguageModel, Query, WordLearner

LONGEST_WORD, MOST_SENTENCES, LONGEST_TEXT = 40, 24, 600
ANSWERS, NEIGHBORS = 5, 8
QUESTIONS = ("a <W> is a kind of _.", "the <W> is _.", "<W> and _.")
# word, sentences, definition
EXAMPLES = [
    ["paxlovid", "", "an oral antiviral pill used to treat COVID-19"],
    [
        "kombucha",
        "She poured a glass of cold kombucha.\nKombucha is brewed from sweet tea and left to ferment.\n"
        "The shop sells kombucha and lemonade in small bottles.",
        "",
    ],
    ["ozempic", "Her doctor put her on ozempic.", "an injected drug against diabetes"],
    ["oldanka", "The oldanka sailed out of the harbor at dawn.\nThree men rowed the oldanka across the lake.", ""],
    ["vegemite", "He spread vegemite on his toast.", "a dark salty spread made from yeast"],
]
STYLE = """
.rw {font-size: var(--text-md); color: var(--body-text-color); line-height: 1.5}
.rw h3 {font-size: var(--text-lg); font-weight: 600; margin: 1.2em 0 .4em; color: inherit}
.rw h3:first-child {margin-top: 0}
.rw p {margin: .3em 0}
.rw .pair {display: grid; grid-template-columns: 1fr 1fr; gap: .2em 1.5em; margin-bottom: .9em}
.rw .pair > h4 {grid-column: 1 / -1; font-weight: 400; font-style: italic; margin: 0; color: inherit}
.rw .side {min-width: 0}
.rw .side > b {font-weight: 400; font-size: var(--text-sm); opacity: .75}
.rw .bar {position: relative; display: flex; justify-content: space-between; gap: .5em; padding: .1em .5em;
  margin: .15em 0; border-radius: 4px; background: var(--background-fill-secondary); overflow: hidden}
.rw .bar > i {position: absolute; inset: 0 auto 0 0; background: var(--neutral-400); opacity: .3}
.rw .after .bar > i {background: var(--color-accent); opacity: .35}
.rw .bar > span {position: relative; overflow-wrap: anywhere; min-width: 0}
.rw .bar > span + span {white-space: nowrap; font-variant-numeric: tabular-nums; font-size: var(--text-sm)}
.rw code {font-family: var(--font-mono); font-size: .9em}
"""


def build(model: str = "default", device: str = "auto") -> gr.Blocks:
    """The page for a masked LM: ``default``, a folder or a hub name."""
    lm = LanguageModel.from_pretrained(model, device=device)
    lm.require("masked")
    show = partial(_show, WordLearner.for_model(lm))
    with gr.Blocks(title="rarewords", analytics_enabled=False) as page:
        gr.Markdown(
            "# rarewords\n"
            f"Enter a word that {_name(model)} doesn't know, with a few sentences that use it, a definition, "
            "or both. Nothing is fine-tuned."
        )
        with gr.Row():
            with gr.Column(scale=2, min_width=300):
                word = gr.Textbox(label="Word", max_length=LONGEST_WORD)
                sentences = gr.Textbox(
                    label="Sentences that use it, one per line", lines=4, max_lines=12, autoscroll=False
                )
                definition = gr.Textbox(label="Definition", lines=2, max_length=LONGEST_TEXT)
                question = gr.Textbox(
                    label="Your own question (optional)",
                    placeholder="you can eat a kombucha with _.",
                    info="Use the word, and write _ for the answer.",
                    max_length=LONGEST_TEXT,
                )
                learn = gr.Button("Learn the word", variant="primary")
                examples = gr.Column()
            with gr.Column(scale=3, min_width=300):
                shown = gr.HTML(elem_id="answer", css_template=STYLE, apply_default_css=False)
        with examples:
            gr.Examples(
                EXAMPLES,
                [word, sentences, definition],
                shown,
                lambda *example: show(*example, ""),
                run_on_click=True,
                cache_examples=False,
                example_labels=[example[0] for example in EXAMPLES],
                label="Examples",
                api_visibility="private",
            )
        given, first = [word, sentences, definition, question], EXAMPLES[0]
        page.load(lambda: first, outputs=given[:3], show_progress="hidden", api_visibility="private")
        page.load(lambda: show(*first, ""), outputs=shown, api_visibility="private")
        for start in (learn.click, word.submit, definition.submit, question.submit):
            start(show, given, shown, api_name="learn" if start == learn.click else None)
    page.queue(max_size=16, default_concurrency_limit=1)
    return page


def _show(learner: WordLearner, word: str, sentences: str, definition: str, question: str) -> str:
    """What the model makes of a word, as HTML."""
    word, definition, question = (" ".join(text.split()) for text in (word, definition, question))
    lines = list(dict.fromkeys(" ".join(line.split()) for line in sentences.splitlines() if line.strip()))
    try:
        _check(word, lines, definition)
        learned = learner.learn(word, lines, [definition] if definition else [])
        asked = [*([_own(word, question)] if question else []), *QUESTIONS]
        parts = [_subwords(learner.lm, word), _answers(learner.lm, word, learned.embedding, asked)]
    except InputError as error:
        raise gr.Error(f"{str(error)[:1].upper()}{str(error)[1:]}.", duration=None) from None
    parts.append(_neighbors(learner.lm, word, learned.embedding))
    parts.append(_weights(lines, definition, learned.weights, learned.context_share))
    return f'<div class="rw">{"".join(parts)}</div>'


def _check(word: str, sentences: list[str], definition: str) -> None:
    if not word or len(word) > LONGEST_WORD:
        raise InputError(f"type one word of at most {LONGEST_WORD} letters", code="word")
    if not sentences and not definition:
        raise InputError("type a sentence that uses the word, or a definition", code="no-input")
    if len(sentences) > MOST_SENTENCES:
        raise InputError(f"type at most {MOST_SENTENCES} sentences", code="pattern")
    if any(len(text) > LONGEST_TEXT for text in (*sentences, definition)):
        raise InputError(f"a sentence may have at most {LONGEST_TEXT} characters", code="pattern")


def _own(word: str, question: str) -> str:
    """The user's question as a pattern: ``you eat a kumquat with _`` -> ``you eat a <W> with _``."""
    pattern = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "<W>", question, count=1, flags=re.IGNORECASE)
    if "<W>" not in pattern or pattern.count("_") != 1:
        raise InputError("a question must contain the word, and one _ for the answer", code="pattern")
    return pattern


def _subwords(lm: LanguageModel, word: str) -> str:
    subwords = lm.tokens.subword_strings(lm.subwords(word))
    if len(subwords) == 1:
        return f"<p>The model has <b>{escape(word)}</b> as one token already.</p>"
    cut = " ".join(f"<code>{escape(one)}</code>" for one in subwords)
    return f"<p>The model splits <b>{escape(word)}</b> into {cut}.</p>"


def _answers(lm: LanguageModel, word: str, embedding: Any, questions: list[str]) -> str:
    """The first answers with the subwords, and with the embedding behind them."""
    asked = [_with_article(one, word) for one in questions]
    before = [Query(one, word) for one in asked]
    after = [Query(one, word, embedding, "append") for one in asked]
    found = lm.fill([*before, *after], top_k=ANSWERS)
    rows = [[(one["word"], one["probability"]) for one in found.as_json(row)] for row in range(2 * len(asked))]
    pairs = [
        _pair(one.replace("<W>", word), rows[row], rows[row + len(asked)], "{:.0%}") for row, one in enumerate(asked)
    ]
    return "<h3>Answers</h3>" + "".join(pairs)


def _neighbors(lm: LanguageModel, word: str, embedding: Any) -> str:
    """The known words nearest to the mean of the subwords and to the embedding, seen from the mean."""
    subwords = lm.embeddings[lm.subwords(word)].float().mean(0)
    names, ids = list(lm.whole_words), list(lm.whole_words.values())
    known = lm.embeddings[ids].float()
    both = torch.stack([subwords, torch.as_tensor(embedding).to(known)]) - known.mean(0)
    cosines = torch.nn.functional.normalize(both) @ torch.nn.functional.normalize(known - known.mean(0)).T
    rows = []
    for row in cosines:
        best = row.topk(NEIGHBORS)
        rows.append([(names[at], cosine) for cosine, at in zip(*map(torch.Tensor.tolist, best), strict=True)])
    return "<h3>Nearest words</h3>" + _pair("", *rows, "{:.2f}", ("to its subwords", "to its embedding"))


def _weights(sentences: list[str], definition: str, weights: tuple[float, ...], share: float) -> str:
    """How much of the embedding comes from each sentence, from the definition and from the spelling."""
    parts = [(text, share * weight) for text, weight in zip(sentences, weights, strict=True)]
    if definition:
        parts.append((f"Definition: {definition}", share * max(0.0, 1 - sum(weights))))
    parts.append(("The word's spelling", 1 - share))
    return f'<h3>What counted</h3><div class="after">{_bars(parts, "{:.0%}")}</div>'


def _pair(
    title: str,
    before: list[tuple[str, float]],
    after: list[tuple[str, float]],
    form: str,
    names: tuple[str, str] = ("before", "after"),
) -> str:
    heading = f"<h4>{escape(title)}</h4>" if title else ""
    sides = zip(("before", "after"), names, (before, after), strict=True)
    shown = "".join(f'<div class="side {side}"><b>{name}</b>{_bars(rows, form)}</div>' for side, name, rows in sides)
    return f'<div class="pair">{heading}{shown}</div>'


def _bars(rows: list[tuple[str, float]], form: str) -> str:
    return "".join(
        f'<div class="bar"><i style="width: {100 * max(0.0, value):.0f}%"></i>'
        f"<span>{escape(text)}</span><span>{form.format(value)}</span></div>"
        for text, value in rows
    )


def _with_article(question: str, word: str) -> str:
    return question.replace("a <W>", "an <W>") if word[:1].lower() in tuple("aeiou") else question


def _name(model: str) -> str:
    return "the bundled model" if model == "default" else f"`{model.rstrip('/').split('/')[-1]}`"


if __name__ == "__main__":
    build().launch()
