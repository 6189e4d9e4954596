"""The words that a model was taught, as its config, tokenizer and embeddings tell; and how to undo it."""

from typing import Any

from rarewords.errors import InputError
from rarewords.injection.inject import digest, unshare_bias
from rarewords.injection.vocabulary import added_words, has_rules, remove_entries, ruled_words

_NOTES = ("rarewords_first_token", "rarewords_rows", "rarewords_digest")


def taught_tokens(model: Any, tokenizer: Any) -> dict[str, list[int]]:
    """The words that a model was taught, with their tokens, in the order they were taught."""
    first, rows, signed = (getattr(model.config, name, None) for name in _NOTES)
    ruled = ruled_words(tokenizer)
    if first is None and rows is None and not ruled:
        return {}
    size = len(model.get_input_embeddings().weight)
    if (
        not (type(first) is int and type(rows) is int and 0 < first <= rows <= size)
        or signed != digest(tokenizer, first, rows)
        or bool(ruled) != has_rules(tokenizer)
        or max((ids[-1] for ids in added_words(tokenizer, first).values()), default=0) >= size
    ):
        problem = f"config.json says that the taught words start at token {first!r:.40} after {rows!r:.40} rows"
        raise InputError(f"{problem}, but the tokenizer or the weights do not; teach it again", code="word")
    return added_words(tokenizer, first)


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
