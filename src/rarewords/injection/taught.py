"""The words that a model was taught, as its config, tokenizer and embeddings tell; and how to undo it."""

import hashlib
import json
from typing import Any

import torch

from rarewords.errors import InputError
from rarewords.injection.vocabulary import added_words, has_rules, remove_entries, ruled_words

_NOTES = ("rarewords_first_token", "rarewords_rows", "rarewords_digest")


def note_words(model: Any, tokenizer: Any, first: int, rows: int) -> None:
    """Note in the config which tokens were added, so that they can be told apart and taken back.

    :param first: the first added token; ``rows``: how many embeddings there were before.
    """
    for name, value in zip(_NOTES, (first, rows, _digest(tokenizer, first, rows)), strict=True):
        setattr(model.config, name, value)


def _digest(tokenizer: Any, first: int, rows: int) -> str:
    words = json.dumps([first, rows, added_words(tokenizer, first)])
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def taught_tokens(model: Any, tokenizer: Any) -> dict[str, list[int]]:
    """The words that a model was taught, with their tokens, in the order they were taught."""
    first, rows, signed = (getattr(model.config, name, None) for name in _NOTES)
    ruled = ruled_words(tokenizer)
    if first is None and rows is None and not ruled:
        return {}
    size = len(model.get_input_embeddings().weight)
    if type(first) is int and type(rows) is int and 0 < first <= rows <= size:
        tokens = added_words(tokenizer, first)
        last = max((ids[-1] for ids in tokens.values()), default=0)
        if signed == _digest(tokenizer, first, rows) and bool(ruled) == has_rules(tokenizer) and last < size:
            return tokens
    problem = f"config.json says that the taught words start at token {first!r:.40} after {rows!r:.40} rows"
    raise InputError(f"{problem}, but the tokenizer or the weights do not; teach it again", code="word")


def forget_everything(model: Any, tokenizer: Any) -> None:
    """Make a taught model and its tokenizer what they were before any word was taught."""
    first, rows = model.config.rarewords_first_token, model.config.rarewords_rows
    remove_entries(tokenizer, first)
    if rows < len(model.get_input_embeddings().weight):
        model.resize_token_embeddings(rows, mean_resizing=False)
        if model.get_output_embeddings() is not None:
            unshare_bias(model)
    if unsaid := unsaid_tokens(model):
        model.generation_config.suppress_tokens = sorted(token for token in unsaid if token < first) or None
    for name in _NOTES:
        delattr(model.config, name)


def unsaid_tokens(model: Any) -> set[int]:
    """The tokens that a causal LM may not write; other models have no such list."""
    return set(model.generation_config.suppress_tokens or ()) if model.can_generate() else set()


def unshare_bias(model: Any) -> None:
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
            own = output.bias.detach().clone()
            module.bias = torch.nn.Parameter(own, requires_grad=output.bias.requires_grad)
