"""What a model of any kind says about a text: what fills its blank, how it goes on, which words are near it."""

from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any

import torch
from torch import Tensor

from rarewords.lm import LanguageModel
from rarewords.queries import InputRow, Query
from rarewords.tokens import BLANK

_TOKENS_PER_BATCH = 2048
_COMPARED = 4000  # frequent words
_CONTINUATION = 6  # tokens


def ask(lm: LanguageModel, texts: Sequence[str], top_k: int) -> list[list[dict[str, Any]]]:
    """The first answers of a masked LM, the words nearest for an encoder, or how a causal LM continues."""
    if lm.kind == "masked":
        blanks = ("[MASK]", "<mask>", lm.tokens.mask_token)
        patterns = [reduce(lambda text, blank: text.replace(blank, "_"), blanks, text) for text in texts]
        answers = lm.fill([Query(pattern) for pattern in patterns], top_k=top_k)
        return [answers.as_json(row) for row in range(len(texts))]
    rows = [text_row(lm, text) for text in texts]
    if lm.kind == "causal":
        return [[{"continuation": continuation(lm, row)}] for row in rows]
    nearest = nearest_words(lm, rows, top_k)
    return [[{"word": word, "cosine": round(cosine, 4)} for word, cosine in own] for own in nearest]


def text_row(lm: LanguageModel, text: str) -> InputRow:
    """The tokens of a text as an encoder reads it, or for a causal LM those before what it is to say."""
    if lm.kind == "encoder":
        return InputRow(tuple(lm.tokenizer(text)["input_ids"]))
    before, _ = lm.tokens.special_tokens
    start = BLANK.split(text)[0].rstrip()
    return InputRow((*before, *lm.tokenizer(start, add_special_tokens=False)["input_ids"]))


def nearest_words(encoder: LanguageModel, rows: Sequence[InputRow], top_k: int) -> list[list[tuple[str, float]]]:
    """The frequent words that an encoder puts nearest to each text, with their cosines."""
    words, embedded = _frequent_words(encoder)
    cosines, nearest = (sentence_embeddings(encoder, rows) @ embedded.T).topk(min(top_k, len(words)))
    named = [[words[at] for at in row] for row in nearest.tolist()]
    return [list(zip(*found, strict=True)) for found in zip(named, cosines.tolist(), strict=True)]


@lru_cache(maxsize=1)
def _frequent_words(encoder: LanguageModel) -> tuple[list[str], Tensor]:
    """The first long words of the vocabulary and their embeddings as texts. *Shape:* (words, hidden)"""
    words = [word for word in encoder.whole_words if len(word) > 3][:_COMPARED]
    return words, sentence_embeddings(encoder, [text_row(encoder, word) for word in words])


def sentence_embeddings(encoder: LanguageModel, rows: Sequence[InputRow]) -> Tensor:
    """Pooled last states of unit length. *Shape:* (rows, hidden)"""
    mode = encoder.pooling

    def pooled(_: list[int], inputs: Tensor) -> Tensor:
        states = encoder.last_hidden_state(inputs)
        one = {"cls": states[:, 0], "lasttoken": states[:, -1]}.get(mode, states.mean(dim=1))
        return torch.nn.functional.normalize(one.float(), dim=-1).cpu()

    result = torch.zeros(len(rows), encoder.hidden)
    for batch, found in encoder.in_batches(rows, pooled, _TOKENS_PER_BATCH):
        result[batch] = found
    return result


def continuation(lm: LanguageModel, row: InputRow) -> str:
    """The most probable next tokens behind a text, one after the other, as ``generate`` would write them."""
    settings = getattr(lm.model, "generation_config", None)
    unsaid = list(getattr(settings, "suppress_tokens", None) or ())

    def continued(_: list[int], inputs: Tensor) -> list[int]:
        added: list[int] = []
        while len(added) < _CONTINUATION:
            logits = lm.model(inputs_embeds=inputs).logits[0, -1].clone()
            logits[unsaid] = -torch.inf
            added.append(int(logits.argmax()))
            inputs = torch.cat([inputs, lm.embed(torch.tensor([added[-1:]], device=lm.device))], dim=1)
        return added

    ((_, added),) = lm.in_batches([row], continued, _TOKENS_PER_BATCH)
    return str(lm.tokenizer.decode(added, skip_special_tokens=True)).strip()
