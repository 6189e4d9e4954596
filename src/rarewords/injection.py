"""Put word vectors into a model, so that plain ``transformers`` uses them.

Each word becomes one added token that matches whole words only, and its vector becomes the token's row of the
input embeddings. Everything else stays as it was: other text tokenizes the same, existing rows keep their
values, and the model does not predict a new word unless asked to, because its output bias is so low that its
probability is exactly zero.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from tokenizers import AddedToken

from rarewords.card import model_card
from rarewords.errors import InputError
from rarewords.files import no_space, whole_folder
from rarewords.models import is_sentence_transformer, load_pretrained, model_kind, transformer_folder
from rarewords.tokens import Tokens
from rarewords.vectors import WordVectors

EXISTING = ("refuse", "replace", "skip")
# exp() of a logit this low is zero in float32, float16 and bfloat16, and the number itself fits in each.
_NEVER = -1e4
_TRIED = 64  # tokens of a text that shows which words a causal LM does not say
# A word must be one token in each of these surroundings.
_SURROUNDINGS = ("{}", "a {} .", '"{}"', "({}),")
# Files of a sentence-transformers folder that hold the model without its new words.
_OLD_WEIGHTS = ("pytorch_model*", "model*.safetensors*", "*.h5", "*.msgpack", "*.ot", "onnx", "openvino")


@dataclass(frozen=True)
class Injection:
    """What an injection did.

    :param ids: the token id of each injected word.
    :param replaced: words whose existing row was overwritten.
    :param skipped: words left alone because the vocabulary has them.
    """

    ids: dict[str, int]
    replaced: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


def inject(
    model: Any,
    tokenizer: Any,
    vectors: WordVectors,
    *,
    predictable: bool = False,
    existing: str = "refuse",
    slash: bool = False,
) -> Injection:
    """Put vectors into a Hugging Face masked LM and its tokenizer, both changed in place.

    Everything is checked first; on an error neither is changed.

    :param predictable: let the model answer with the new words.
    :param existing: what to do with words that the vocabulary has as one piece: ``refuse`` all words,
        ``replace`` their rows, or ``skip`` them.
    :param slash: name the tokens ``<word>``, for use behind the word itself: ``kumquat / <kumquat>``
        (see :func:`rarewords.slash.slash_text`).
    """
    if existing not in EXISTING:
        raise InputError(f"existing must be one of {', '.join(EXISTING)}, not {existing!r}")
    _check_size(model, vectors)
    contents = [f"<{word}>" if slash else word for word in vectors.words]
    old_rows, skipped = _existing_rows(tokenizer, vectors, contents, existing)
    new = [row for row in range(len(vectors)) if row not in old_rows and row not in skipped]
    for reason in _unfit(tokenizer, [contents[row] for row in new]).values():
        raise InputError(reason)
    if new:
        require_injectable(model, predictable=predictable)

    ids = _add_tokens(tokenizer, [contents[row] for row in new])
    _grow(model, len(tokenizer))
    _set_rows(model, vectors, {**dict(zip(new, ids, strict=True)), **old_rows})
    _set_outputs(model, vectors, dict(zip(new, ids, strict=True)), predictable)
    words = vectors.words
    return Injection(
        ids={
            words[row]: token
            for row, token in sorted({**dict(zip(new, ids, strict=True)), **old_rows}.items())
        },
        replaced=tuple(words[row] for row in sorted(old_rows)),
        skipped=tuple(words[row] for row in sorted(skipped)),
    )


def inject_folder(
    model: str | Path,
    vectors: WordVectors,
    out: str | Path,
    *,
    predictable: bool = False,
    existing: str = "refuse",
    slash: bool = False,
    card: str | None = None,
) -> Injection:
    """Make a new model folder that knows the words; it appears whole or not at all.

    :param model: ``default``, a folder or a hub name.
    :param card: the text of the folder's README.md; generated if not given.
    """
    language_model, tokenizer = load_pretrained(model, model_kind(model))
    injection = inject(
        language_model, tokenizer, vectors, predictable=predictable, existing=existing, slash=slash
    )
    if card is None:
        card = model_card(str(model), vectors, injection.ids, predictable=predictable, slash=slash)
    save_folder(language_model, tokenizer, out, base=model, card=card)
    return injection


def require_injectable(model: Any, *, predictable: bool = False) -> None:
    """Refuse a model whose answers new words could not be kept out of."""
    answers = model.get_output_embeddings() is not None and not model.can_generate()
    if answers and not predictable and _output_bias(model) is None:
        raise InputError(
            f"{type(model).__name__} has no output bias, so new words cannot be kept out of its answers; "
            "use predictable=True (inject --predictable, or predictable = true in --settings of teach)"
        )


def unfit_words(tokenizer: Any, words: Sequence[str], *, slash: bool = False) -> dict[str, str]:
    """The words that cannot become one token each, with the reason; the others can be injected together."""
    refused: dict[str, str] = {}
    while True:
        # One word's token can get in the way of another's, so the rest is checked again.
        left = [word for word in words if word not in refused]
        found = _unfit(tokenizer, [f"<{word}>" if slash else word for word in left])
        if not found:
            return refused
        refused |= {left[row]: reason for row, reason in found.items()}


def save_folder(
    model: Any,
    tokenizer: Any,
    out: str | Path,
    *,
    base: str | Path,
    card: str,
    more: Mapping[str, str] | None = None,
) -> None:
    """Save model, tokenizer and card as an ordinary Hugging Face folder, whole or not at all.

    :param base: the model it was made from; a sentence-transformers folder keeps its other modules.
    :param more: further text files by name.
    """
    with whole_folder(out) as folder:
        try:
            inner = folder
            if is_sentence_transformer(base):
                shutil.copytree(
                    base, folder, ignore=shutil.ignore_patterns(*_OLD_WEIGHTS), dirs_exist_ok=True
                )
                inner = folder / transformer_folder(base).relative_to(base)
            model.save_pretrained(inner)
            tokenizer.save_pretrained(inner)
        except SafetensorError as error:
            raise no_space(error, out) or error from error
        for name, text in {"README.md": card, **(more or {})}.items():
            (folder / name).write_text(text, "utf-8")


def _check_size(model: Any, vectors: WordVectors) -> None:
    dim = model.get_input_embeddings().weight.shape[1]
    if not len(vectors):
        raise InputError("there are no vectors to inject")
    if vectors.dim != dim:
        raise InputError(
            f"the vectors have size {vectors.dim}, but the model takes size {dim}; "
            "they were made for another model"
        )


def _existing_rows(
    tokenizer: Any, vectors: WordVectors, contents: Sequence[str], existing: str
) -> tuple[dict[int, int], set[int]]:
    """Rows of words the vocabulary has: those to overwrite, with their token ids, and those to skip."""
    tokens = Tokens(tokenizer)
    unknown = tokenizer.unk_token_id
    held = {
        row: pieces[0]
        for row, pieces in enumerate(tokens.pieces_of(contents))
        if len(pieces) == 1 and pieces[0] != unknown
    }
    if held and existing == "refuse":
        word = vectors.words[next(iter(held))]
        raise InputError(
            f"the vocabulary already holds {word!r} as one piece ({len(held)} such words); "
            "leave it out, or use existing='replace' or 'skip' (--existing)"
        )
    return (held, set()) if existing == "replace" else ({}, set(held))


def _unfit(tokenizer: Any, contents: Sequence[str]) -> dict[int, str]:
    """The rows of words that do not become one token everywhere in text, with the reason."""
    found = _unclear(tokenizer, contents)
    if found:
        return found  # of two words that the tokenizer cannot tell apart either may win the trial
    trial = copy.deepcopy(tokenizer)
    ids = _add_tokens(trial, contents)
    backend = trial.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    for surroundings in _SURROUNDINGS:
        texts = [surroundings.format(content) for content in contents]
        encoded = backend.encode_batch_fast(texts, add_special_tokens=False)
        for row, (content, token) in enumerate(zip(contents, ids, strict=True)):
            if encoded[row].ids.count(token) != 1 and row not in found:
                found[row] = (
                    f"the model's tokenizer cannot hold {content!r} as one token (tried in "
                    f"{texts[row]!r}); leave it out or spell it without unusual characters"
                )
    return found


def _unclear(tokenizer: Any, contents: Sequence[str]) -> dict[int, str]:
    """The rows that hold no word, or the same word as an earlier row."""
    normalizer = tokenizer.backend_tokenizer.normalizer
    seen: dict[str, str] = {}
    found: dict[int, str] = {}
    for row, content in enumerate(contents):
        normalized = normalizer.normalize_str(content).strip() if normalizer else content
        if content != content.strip():
            found[row] = f"{content!r} begins or ends with white space; remove it"
        elif any(not letter.isprintable() for letter in content):
            found[row] = f"{content!r} holds a control character; remove it"
        elif not normalized:
            found[row] = f"the model's tokenizer reads {content!r} as nothing at all; leave it out"
        elif normalized in seen:
            found[row] = (
                f"{seen[normalized]!r} and {content!r} are the same word to this model's tokenizer; keep one"
            )
        seen.setdefault(normalized, content)
    return found


def _add_tokens(tokenizer: Any, contents: Sequence[str]) -> list[int]:
    # If a space belongs to the word after it (Ġ, ▁), the new token must include that space.
    takes_space = _space_belongs_to_word(tokenizer)
    tokenizer.add_tokens(
        [
            AddedToken(content, single_word=True, normalized=True, lstrip=takes_space, rstrip=False)
            for content in contents
        ]
    )
    return [int(token) for token in tokenizer.convert_tokens_to_ids(list(contents))]


def _space_belongs_to_word(tokenizer: Any) -> bool:
    """Whether the token for a word in running text covers the space before it."""
    backend = tokenizer.backend_tokenizer
    marked = backend.encode("a a", add_special_tokens=False).tokens
    return len(marked) > 1 and marked[-1] != "a"


def _grow(model: Any, size: int) -> None:
    if size > model.get_input_embeddings().weight.shape[0]:
        model.resize_token_embeddings(size, mean_resizing=False)


@torch.no_grad()
def _set_rows(model: Any, vectors: WordVectors, ids: dict[int, int]) -> None:
    weight = model.get_input_embeddings().weight
    rows, tokens = list(ids), list(ids.values())
    weight[tokens] = torch.from_numpy(vectors.matrix[rows]).to(weight)


@torch.no_grad()
def _set_outputs(model: Any, vectors: WordVectors, ids: dict[int, int], predictable: bool) -> None:
    """Output rows and biases of new words; rows are the input rows already where the two are tied."""
    if not ids:
        return
    rows, tokens = list(ids), list(ids.values())
    output = model.get_output_embeddings()
    if output is None:
        return
    unspoken = model.can_generate() and not predictable
    if output.weight.data_ptr() != model.get_input_embeddings().weight.data_ptr():
        values = torch.from_numpy(vectors.matrix[rows]).to(output.weight)
        fits = output.weight.shape[1] == values.shape[1]
        output.weight[tokens] = _least_probable(model, min(tokens)) if unspoken else values if fits else 0.0
    if unspoken:  # a tied output row is the input row, so that generation itself must leave the words out
        settings = model.generation_config
        settings.suppress_tokens = sorted({*(settings.suppress_tokens or ()), *tokens})
    bias = _output_bias(model)
    if bias is not None:
        old = torch.ones(len(bias), dtype=torch.bool)
        old[tokens] = False
        bias[tokens] = bias[old].mean() if predictable else _NEVER
    _unshare_bias(model)


def _least_probable(model: Any, size: int) -> torch.Tensor:
    """The output row, among the first ``size``, of the token whose greatest probability is the least.

    It is looked for behind every token of a text drawn evenly from the vocabulary. *Shape:* (hidden,)
    """
    text = torch.linspace(0, size - 1, _TRIED).long()[None]
    greatest = model(input_ids=text).logits[0, :, :size].float().log_softmax(dim=-1).amax(dim=0)
    row: torch.Tensor = model.get_output_embeddings().weight[int(greatest.argmin())]
    return row


def _unshare_bias(model: Any) -> None:
    """Give an untied output layer its own bias.

    Many heads keep the output bias twice, ``head.bias`` and ``head.decoder.bias``. After resizing, either the
    two share one parameter, of which only one is saved, or the first still has its old size; in both cases
    an untied model could not be loaded again.
    """
    output = model.get_output_embeddings()
    if output.bias is None or output.weight.data_ptr() == model.get_input_embeddings().weight.data_ptr():
        return
    for module in model.modules():
        if isinstance(getattr(module, "bias", None), torch.nn.Parameter) and output in module.children():
            module.bias = torch.nn.Parameter(
                output.bias.detach().clone(), requires_grad=output.bias.requires_grad
            )


def _output_bias(model: Any) -> torch.Tensor | None:
    return getattr(model.get_output_embeddings(), "bias", None)
