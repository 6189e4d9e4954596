"""Put word embeddings into a model, so that plain ``transformers`` uses them.

Each word gets one added token, in place of its subwords or behind them, and its embedding becomes the
token's row of the input embeddings. Everything else stays as it was: other text, longer words included,
tokenizes the same, existing rows keep their values, and the model does not predict a new word unless asked
to, because its output bias is far below that of the known words.
"""

import copy
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken

from rarewords._internal.files import require_folder, whole_folder
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.injection.card import model_card
from rarewords.injection.rules import (
    normalized,
    own_normalizer,
    save_tokenizer,
    set_rules,
    token_name,
    words_with_rules,
)
from rarewords.model_folder import REPORT, is_sentence_transformer, transformer_folder
from rarewords.models import load_pretrained, model_folder, model_kind, shown_name
from rarewords.tokens import Placement, Tokens

# How far the output bias of a new word lies below the mean of the others: enough to keep it out of the first
# hundred answers, and little enough for training to go on from there.
_BELOW = 20.0
_LONGEST = 200  # characters of a word; the expression that finds the words is nested as deep
_TRIED = 64  # tokens of a text that shows which words a causal LM does not say
# A word must be one token in each of these surroundings.
_SURROUNDINGS = ("{}", "a {} .", '"{}"', "({}),")
# Files of a sentence-transformers folder that hold the model without its new words.
_OLD_WEIGHTS = ("pytorch_model*", "model*.safetensors*", "*.h5", "*.msgpack", "*.ot", "onnx", "openvino")


@dataclass(frozen=True)
class Injection:
    """What an injection did.

    :param ids: the token id of each injected word.
    :param skipped: words left alone because the vocabulary has them as one token or they were taught before.
    """

    ids: dict[str, int]
    skipped: tuple[str, ...] = ()


def inject(
    model: Any,
    tokenizer: Any,
    embeddings: WordEmbeddings,
    *,
    allow_prediction: bool = False,
    placement: Placement = "replace",
) -> Injection:
    """Put embeddings into a Hugging Face masked LM and its tokenizer, both changed in place.

    Everything is checked first; on an error neither is changed. Words that have a token already are skipped.

    :param allow_prediction: let the model answer with the new words.
    :param placement: keep each word's subwords and put its token behind them, ``ku ##m ##qua ##t /
        <kumquat>``, instead of turning the word into one token.
    """
    words = embeddings.words
    if not words:
        raise InputError("there are no embeddings to inject", code="word")
    embeddings.require_dim(model.get_input_embeddings().weight.shape[1])
    held = _held(tokenizer, words, placement)
    new = [word for word in words if word not in held]
    if not new:
        raise InputError(
            f"the model has a token for {words[0]!r} already, as for all given; give new words", code="word"
        )
    for reason in _unfit(tokenizer, new, placement).values():
        raise InputError(reason, code="word")
    require_injectable(model, allow_prediction=allow_prediction)

    tokens = _add_tokens(tokenizer, new, placement)
    if not hasattr(model.config, "rarewords_first_token"):  # for `rarewords forget`
        model.config.rarewords_first_token = min(tokens)
        model.config.rarewords_rows = len(model.get_input_embeddings().weight)
    if len(tokenizer) > len(model.get_input_embeddings().weight):
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    weight = model.get_input_embeddings().weight
    rows = torch.from_numpy(embeddings.subset(new).matrix)
    weight.data[tokens] = rows.to(weight)
    _set_outputs(model, rows, tokens, allow_prediction)
    skipped = tuple(word for word in words if word in held)
    return Injection(dict(zip(new, tokens, strict=True)), skipped)


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
    injection = inject(
        language_model, tokenizer, embeddings, allow_prediction=allow_prediction, placement=placement
    )
    name, words = shown_name(model), injection.ids
    card = model_card(
        name,
        words,
        allow_prediction=allow_prediction,
        kind=kind,
        folder=folder,
    )
    save_folder(language_model, tokenizer, out, base=folder, card=card)
    return injection


def require_injectable(model: Any, *, allow_prediction: bool = False) -> None:
    """Refuse a model whose answers new words could not be kept out of."""
    output = model.get_output_embeddings()
    answers = output is not None and not model.can_generate()
    if answers and not allow_prediction and getattr(output, "bias", None) is None:
        raise InputError(
            f"{type(model).__name__} has no output bias, so new words cannot be kept out of its answers; "
            "allow it with allow_prediction=True",
            code="tokenizer",
        )


def unfit_words(tokenizer: Any, words: Sequence[str], *, placement: Placement = "replace") -> dict[str, str]:
    """The words that cannot get one token each, with the reason; the others can be injected together."""
    skipped: dict[str, str] = {}
    # One word's token can get in the way of another's, so the rest is checked again.
    while found := _unfit(tokenizer, [word for word in words if word not in skipped], placement):
        skipped |= found
    return skipped


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
            left_out = shutil.ignore_patterns(*_OLD_WEIGHTS)
            shutil.copytree(base, folder, ignore=left_out, dirs_exist_ok=True)
            inner = folder / transformer_folder(base).relative_to(base)
        model.save_pretrained(inner)
        save_tokenizer(tokenizer, inner)
        (folder / "README.md").write_text(card, "utf-8")
        if report:
            text = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
            (folder / REPORT).write_text(text, "utf-8")


def require_output(out: str | Path, base: Path | None) -> None:
    """Refuse an output folder that is not free or lies inside the model folder it is made from."""
    require_folder(Path(out), empty=True)
    if base is not None and Path(out).resolve().is_relative_to(Path(base).resolve()):
        raise InputError(f"{out} is inside the model folder {base}; choose another folder", code="output")


def _held(tokenizer: Any, words: Sequence[str], placement: Placement) -> set[str]:
    """The words that have a token already, of the vocabulary or taught."""
    tokens, normalizer = Tokens(tokenizer), own_normalizer(tokenizer)
    taught = {normalized(normalizer, word) for word in words_with_rules(tokenizer)}
    held = {word for word in words if normalized(normalizer, word) in taught}
    if placement == "replace":
        subwords = zip(words, tokens.subwords_of(words), strict=True)
        held |= {word for word, own in subwords if len(own) == 1 and not tokens.has_unknown(own)}
    return held


def _unfit(tokenizer: Any, words: Sequence[str], placement: Placement) -> dict[str, str]:
    """The words that do not get their token everywhere in text, with the reason."""
    found = _unclear(tokenizer, words, placement)
    if found or not words:
        return found  # of two words that the tokenizer cannot tell apart either may win the trial
    trial = copy.deepcopy(tokenizer)
    ids = _add_tokens(trial, words, placement)
    backend = trial.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    for surroundings in _SURROUNDINGS:
        texts = [surroundings.format(word) for word in words]
        encoded = backend.encode_batch_fast(texts, add_special_tokens=False)
        for word, token, text, one in zip(words, ids, texts, encoded, strict=True):
            if one.ids.count(token) != 1 and word not in found:
                found[word] = (
                    f"the model's tokenizer cannot hold {word!r} as one token (tried in {text!r}); "
                    "leave it out or spell it without unusual characters"
                )
    return found


def _unclear(tokenizer: Any, words: Sequence[str], placement: Placement) -> dict[str, str]:
    """Texts that are no words, the same word as an earlier one, or words whose token has another use."""
    normalizer = own_normalizer(tokenizer)
    seen = {normalized(normalizer, word): word for word in words_with_rules(tokenizer)}
    found: dict[str, str] = {}
    for word, name in zip(words, _names(words, placement), strict=True):
        form = normalized(normalizer, word)
        if word != word.strip():
            found[word] = f"{word!r} begins or ends with white space; remove it"
        elif len(word) > _LONGEST:
            found[word] = f"{word[:20]}… has {len(word):,} characters, too many for a word; leave it out"
        elif any(not letter.isprintable() for letter in word):
            found[word] = f"{word!r} holds a control character; remove it"
        elif not form:
            found[word] = f"the model's tokenizer reads {word!r} as nothing at all; leave it out"
        elif form in seen:
            found[word] = f"{seen[form]!r} and {word!r} are the same word to this model's tokenizer; keep one"
        elif tokenizer.backend_tokenizer.token_to_id(name) is not None:
            # Added again, it keeps its id, and the word's embedding would overwrite its row.
            found[word] = (
                f"the model's tokenizer has a token {name!r} already, for other text than the word "
                f"{word!r}; {'leave it out' if placement == 'append' else 'use the placement append'}"
            )
        seen.setdefault(form, word)
    return found


def _names(words: Sequence[str], placement: Placement) -> list[str]:
    return [token_name(word) if placement == "append" else word for word in words]


def _add_tokens(tokenizer: Any, words: Sequence[str], placement: Placement) -> list[int]:
    names = _names(words, placement)
    if placement == "append":
        set_rules(tokenizer, [*words_with_rules(tokenizer), *words])
        tokens = [AddedToken(name, single_word=False, normalized=True) for name in names]
    else:
        # If a space belongs to the word after it (Ġ, ▁), the new token must include that space.
        marked = tokenizer.backend_tokenizer.encode("a a", add_special_tokens=False).tokens
        takes_space = len(marked) > 1 and marked[-1] != "a"
        tokens = [AddedToken(name, single_word=True, normalized=True, lstrip=takes_space) for name in names]
    tokenizer.add_tokens(tokens)
    return [int(token) for token in tokenizer.convert_tokens_to_ids(names)]


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
    """The output row, among the first ``size``, of the token whose greatest probability is the least.

    It is looked for behind every token of a text drawn evenly from the vocabulary. *Shape:* (hidden,)
    """
    text = torch.linspace(0, size - 1, _TRIED).long()[None]
    greatest = model(input_ids=text).logits[0, :, :size].float().log_softmax(dim=-1).amax(dim=0)
    row: torch.Tensor = model.get_output_embeddings().weight[int(greatest.argmin())]
    return row.clone()


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
