"""The words that a model was taught, as its config, tokenizer and embeddings tell; and how to undo it."""

import json
from collections.abc import Collection
from typing import Any

from tokenizers import Tokenizer

from rarewords.errors import InputError
from rarewords.injection.inject import unshare_bias
from rarewords.injection.rules import own_normalizer, words_with_rules


def taught_tokens(model: Any, tokenizer: Any) -> dict[str, int]:
    """The words that a model was taught, with their tokens, in the order they were taught."""
    beside = {token: word for word, token in words_with_rules(tokenizer).items()}
    first = _first_taught(model, tokenizer, beside)
    if first is None:
        return {}
    added = sorted((token, name) for name, token in tokenizer.get_added_vocab().items() if token >= first)
    return {beside.get(token, name): token for token, name in added}


def _first_taught(model: Any, tokenizer: Any, beside: Collection[int]) -> int | None:
    """The first taught token, if there is one; config, tokenizer and embeddings must agree about it.

    :param beside: the tokens that stand behind a word's subwords.
    """
    first, rows = (getattr(model.config, f"rarewords_{name}", None) for name in ("first_token", "rows"))
    if first is None and rows is None and not beside:
        return None
    size, added = len(model.get_input_embeddings().weight), tokenizer.added_tokens_decoder
    last = max(added, default=0)

    def looks_taught(token: int) -> bool:
        one = added.get(token)
        return (
            one is not None and not one.special and (token in beside or (one.single_word and one.normalized))
        )

    if (
        not (type(first) is int and type(rows) is int and 0 < first <= last < size and first <= rows <= size)
        or not all(map(looks_taught, range(first, last + 1)))
        or looks_taught(first - 1)
        or any(token < first for token in beside)
    ):
        raise InputError(
            f"config.json says that the taught words start at token {first!r:.40} after {rows!r:.40} rows, "
            "but the tokenizer or the weights say otherwise; teach the original model again",
            code="word",
        )
    return first


def forget_everything(model: Any, tokenizer: Any) -> None:
    """Make a taught model and its tokenizer what they were before any word was taught."""
    first, rows = model.config.rarewords_first_token, model.config.rarewords_rows
    own = own_normalizer(tokenizer)
    stored = json.loads(tokenizer.backend_tokenizer.to_str())
    stored["normalizer"] = None if own is None else json.loads(own.__getstate__())
    stored["added_tokens"] = [one for one in stored["added_tokens"] if one["id"] < first]
    tokenizer._tokenizer = Tokenizer.from_str(json.dumps(stored))
    if rows < len(model.get_input_embeddings().weight):
        model.resize_token_embeddings(rows, mean_resizing=False)
        if model.get_output_embeddings() is not None:
            unshare_bias(model)
    if unsaid := unsaid_tokens(model):
        model.generation_config.suppress_tokens = sorted(token for token in unsaid if token < first) or None
    del model.config.rarewords_first_token, model.config.rarewords_rows


def unsaid_tokens(model: Any) -> set[int]:
    """The tokens that a causal LM may not write; other models have no such list."""
    return set(model.generation_config.suppress_tokens or ()) if model.can_generate() else set()
