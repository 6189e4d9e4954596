"""Put word embeddings into a model, so that plain ``transformers`` uses them.

Each word becomes an entry of the vocabulary (:mod:`.vocabulary`), and its embedding becomes the entry's row of the
input embeddings. The model does not predict a new word unless asked to, because its output bias is far below that
of the known words.
"""

import copy
import json
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rarewords._internal.files import require_folder, whole_folder
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.injection.card import model_card
from rarewords.injection.forms import begin_other_words
from rarewords.injection.taught import note_words, unshare_bias
from rarewords.injection.vocabulary import (
    add_entries,
    appended_tokens,
    entries_of,
    normalized,
    own_normalizer,
    takes_entries,
)
from rarewords.model_folder import REPORT, is_sentence_transformer, transformer_folder
from rarewords.models import load_pretrained, model_folder, model_kind, shown_name
from rarewords.tokens import Placement, Tokens

# How far the output bias of a new word is below the mean: enough to keep it out of the first hundred answers,
# and little enough for training to go on from there.
_BELOW = 20.0
_LONGEST = 200  # characters of a word; the expression that finds the words is nested as deep
_TRIED = 64  # tokens of a text that shows which words a causal LM does not say
# A word must get its entry in each of these surroundings.
_SURROUNDINGS = ("{}", "a {} .", '"{}"', "({}),")
# Files of a sentence-transformers folder that hold the model without its new words.
_OLD_WEIGHTS = ("pytorch_model*", "model*.safetensors*", "*.h5", "*.msgpack", "*.ot", "onnx", "openvino")


@dataclass(frozen=True)
class Injection:
    """What an injection did.

    :param ids: the token id of each injected word in running text.
    :param skipped: words left alone because the vocabulary has them as one token or they were taught before.
    """

    ids: dict[str, int]
    skipped: tuple[str, ...]


def inject(
    model: Any,
    tokenizer: Any,
    embeddings: WordEmbeddings,
    *,
    allow_prediction: bool = False,
    placement: Placement = "replace",
    whole: Collection[str] | None = None,
) -> Injection:
    """Put embeddings into a Hugging Face model and its tokenizer, both changed in place.

    Everything is checked first; on an error neither is changed. Words that have a token already are skipped.

    :param allow_prediction: let the model answer with the new words.
    :param placement: ``replace`` turns each word into one token; ``append`` keeps its subwords and puts the
        token after them, ``ku ##m ##qua ##t / ᐸkumquatᐳ``.
    :param whole: words that must not become the start of longer words; by default those that begin unrelated
        English words.
    """
    words = embeddings.words
    if not words:
        raise InputError("there are no embeddings to inject", code="word")
    embeddings.require_dim(model.get_input_embeddings().weight.shape[1])
    held = _held(tokenizer, words, placement)
    new = [word for word in words if word not in held]
    if not new:
        problem = f"the model already has a token for every given word, such as {words[0]!r}"
        raise InputError(f"{problem}; give new words", code="word")
    for reason in unfit_words(tokenizer, new, placement=placement).values():
        raise InputError(reason, code="word")
    require_injectable(model, allow_prediction=allow_prediction)

    entries = add_entries(tokenizer, new, placement, begin_other_words(new) if whole is None else whole)
    size, tokens = len(model.get_input_embeddings().weight), [token for ids in entries.values() for token in ids]
    first = getattr(model.config, "rarewords_first_token", tokens[0])
    rows = getattr(model.config, "rarewords_rows", size)
    if tokens[-1] >= size:
        model.resize_token_embeddings(tokens[-1] + 1, mean_resizing=False)
    weight = model.get_input_embeddings().weight
    embedded = torch.from_numpy(np.stack([embeddings[word] for word, ids in entries.items() for _ in ids]))
    weight.data[tokens] = embedded.to(weight)
    _set_outputs(model, embedded, tokens, allow_prediction)
    note_words(model, tokenizer, first, rows)
    return Injection({word: ids[0] for word, ids in entries.items()}, tuple(word for word in words if word in held))


def inject_folder(
    model: str | Path,
    embeddings: WordEmbeddings,
    out: str | Path,
    *,
    allow_prediction: bool = False,
    placement: Placement = "replace",
) -> Injection:
    """Make a new model folder that knows the words; it appears whole or not at all.

    :param model: ``default``, a folder or a hub name.
    """
    folder, kind = model_folder(model), model_kind(model)
    require_output(out, folder)
    language_model, tokenizer = load_pretrained(model)
    injection = inject(language_model, tokenizer, embeddings, allow_prediction=allow_prediction, placement=placement)
    name, words = shown_name(model), injection.ids
    card = model_card(name, words, allow_prediction=allow_prediction, kind=kind, folder=folder)
    save_folder(language_model, tokenizer, out, base=folder, card=card)
    return injection


def require_injectable(model: Any, *, allow_prediction: bool = False) -> None:
    """Refuse a model whose answers new words could not be kept out of."""
    output = model.get_output_embeddings()
    answers = output is not None and not model.can_generate()
    if answers and not allow_prediction and getattr(output, "bias", None) is None:
        problem = f"{type(model).__name__} has no output bias, so new words cannot be kept out of its answers"
        raise InputError(f"{problem}; allow it with allow_prediction=True", code="tokenizer")


def unfit_words(tokenizer: Any, words: Sequence[str], *, placement: Placement = "replace") -> dict[str, str]:
    """The words that cannot get one token each, with the reason; the others can be injected together."""
    normalizer, cut = own_normalizer(tokenizer), takes_entries(tokenizer)
    seen, found = dict[str, str](), dict[str, str]()
    for word in words:
        form = normalized(normalizer, word)
        if word != word.strip():
            found[word] = f"{word!r} begins or ends with white space; remove it"
        elif len(word) > _LONGEST:
            found[word] = f"{word[:20]}… has {len(word):,} characters, too many for a word; leave it out"
        elif not word.isprintable():
            found[word] = f"{word!r} holds a control character; remove it"
        elif not form:
            found[word] = f"the model's tokenizer reads {word!r} as nothing; leave it out"
        elif form in seen:
            found[word] = f"{seen[form]!r} and {word!r} are the same word to this model's tokenizer; keep one"
        elif placement == "append" and not cut:
            found[word] = f"the model's tokenizer can't take rules; use the placement replace for {word!r}"
        seen.setdefault(form, word)
    # One word's token can get in the way of another's, so the rest is tried again.
    while more := _without_token(tokenizer, [word for word in words if word not in found], placement):
        found |= more
    return found


def save_folder(
    model: Any,
    tokenizer: Any,
    out: str | Path,
    *,
    base: Path | None,
    card: str,
    report: Mapping[str, Any] | None = None,
) -> None:
    """Save model, tokenizer and card as an ordinary Hugging Face folder, whole or not at all.

    :param base: the folder it was made from, if any; one of sentence-transformers keeps its other modules.
    :param report: what ``teach`` did.
    """
    require_output(out, base)
    with whole_folder(out) as folder:
        inner = folder
        if base is not None and is_sentence_transformer(base):
            shutil.copytree(base, folder, ignore=shutil.ignore_patterns(*_OLD_WEIGHTS), dirs_exist_ok=True)
            inner = folder / transformer_folder(base).relative_to(base)
        model.save_pretrained(inner)
        tokenizer.save_pretrained(inner)
        (folder / "README.md").write_text(card, "utf-8")
        if report:
            (folder / REPORT).write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", "utf-8")


def require_output(out: str | Path, base: Path | None) -> None:
    """Refuse an output folder that is not free or lies inside the model folder it is made from."""
    require_folder(Path(out), empty=True)
    if base is not None and Path(out).resolve().is_relative_to(Path(base).resolve()):
        raise InputError(f"{out} is inside the model folder {base}; choose another folder", code="output")


def _held(tokenizer: Any, words: Sequence[str], placement: Placement) -> set[str]:
    """The words that have a token already, of the vocabulary or taught."""
    entries, tokens = entries_of(tokenizer, words), Tokens(tokenizer)
    if placement == "append":
        appended = appended_tokens(tokenizer)
        return {word for word, ids in entries.items() if ids[0] in appended}
    subwords = zip(words, tokens.subwords_of(words), strict=True)
    return entries.keys() | {word for word, ids in subwords if len(ids) == 1 and not tokens.has_unknown(ids)}


def _without_token(tokenizer: Any, words: Sequence[str], placement: Placement) -> dict[str, str]:
    """The words that do not get their token everywhere in text, with the reason."""
    if not words:
        return {}
    trial = copy.deepcopy(tokenizer)
    add_entries(trial, words, placement)
    entries, tokens, found = entries_of(trial, words), Tokens(trial), dict[str, str]()
    for surroundings in _SURROUNDINGS:
        texts = [surroundings.format(word) for word in words]
        for word, text, one in zip(words, texts, tokens.encode(texts), strict=True):
            if word not in found and sum(token in entries.get(word, ()) for token in one.ids) != 1:
                problem = f"the model's tokenizer can't represent {word!r} as one token (tried in {text!r})"
                found[word] = f"{problem}; leave it out or spell it without unusual characters"
    return found


@torch.no_grad()
def _set_outputs(model: Any, rows: torch.Tensor, tokens: list[int], allow_prediction: bool) -> None:
    """Output rows and biases of new words; rows are the input rows already where the two are tied."""
    output = model.get_output_embeddings()
    if output is None:
        return
    unspoken = model.can_generate() and not allow_prediction
    if output.weight.data_ptr() != model.get_input_embeddings().weight.data_ptr():
        own = rows.to(output.weight) if output.weight.shape[1] == rows.shape[1] else 0.0
        output.weight[tokens] = _least_probable(model, min(tokens)) if unspoken else own
    if unspoken:  # a tied output row is the input row, so that generation itself must leave the words out
        settings = model.generation_config
        settings.suppress_tokens = sorted({*(settings.suppress_tokens or ()), *tokens})
    bias = getattr(output, "bias", None)
    if bias is not None:
        old = torch.ones(len(bias), dtype=torch.bool)
        old[tokens] = False
        bias[tokens] = bias[old].mean() - (0.0 if allow_prediction else _BELOW)
    unshare_bias(model)


def _least_probable(model: Any, size: int) -> torch.Tensor:
    """The output row of the token, among the first ``size``, whose greatest probability in a text is the least.

    The text is drawn evenly from the vocabulary. *Shape:* (hidden,)
    """
    text = torch.linspace(0, size - 1, _TRIED).long()[None]
    greatest = model(input_ids=text).logits[0, :, :size].float().log_softmax(dim=-1).amax(dim=0)
    row: torch.Tensor = model.get_output_embeddings().weight[int(greatest.argmin())]
    return row.clone()
