"""Words as entries of a tokenizer's own vocabulary, so that every runtime finds them.

The entries of ``kumquat`` depend on the tokenizer:

- WordPiece: ``kumquat``, which is also the start of longer words: ``kumquat ##s``;
- byte-level BPE: ``Ġkumquat`` after a space and ``kumquat`` elsewhere, as whole words only.

Some words cannot be told from other text by the vocabulary alone: a WordPiece word that begins unrelated
words (``cur``, ``curacao``), phrases and codes, every word of Unigram, and every word with the placement
``append``. :mod:`.rules` mark them.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from itertools import count
from typing import Any

from tokenizers import AddedToken, Tokenizer, normalizers
from transformers import PreTrainedTokenizerFast

from rarewords.errors import InputError
from rarewords.injection.rules import BEGIN, CLOSE, OPEN, RULED, as_letter, form_of, rules
from rarewords.tokens import Placement

_SPLIT = {"type": "Split", "pattern": {"Regex": rf" ?{OPEN}\p{{L}}+"}, "behavior": "Isolated", "invert": False}


def add_entries(
    tokenizer: Any, words: Sequence[str], placement: Placement, whole: Collection[str] = ()
) -> dict[str, list[int]]:
    """Add words to a tokenizer in place; gives the new token ids of each, that in running text first.

    :param whole: words that must not become the start of longer words.
    """
    if not takes_entries(tokenizer):  # added tokens are all there is
        tokenizer.add_tokens([AddedToken(word, single_word=True, normalized=False, lstrip=True) for word in words])
        return {word: [int(tokenizer.convert_tokens_to_ids(word))] for word in words}
    backend, vocabulary = tokenizer.backend_tokenizer, tokenizer.get_vocab()
    stored, own = json.loads(backend.to_str()), own_normalizer(tokenizer)
    ruled, found = list(dict.fromkeys(_ruled(tokenizer).values())), dict[str, list[int]]()
    first = max(vocabulary.values()) + 1
    following = count(first)
    for word in words:
        name, entries = _entries(backend, normalized(own, word), placement, word in whole)
        new = {entry: next(following) for entry in entries if entry not in vocabulary}
        vocabulary |= new
        found[word] = list(new.values())
        ruled += [name] if name else []
    _extend(stored["model"], vocabulary, first)
    _set_rules(stored, own, ruled, isolate=_glues(backend))
    _load(tokenizer, stored)
    return found


def entries_of(tokenizer: Any, words: Iterable[str]) -> dict[str, list[int]]:
    """The token ids of those words that have entries, in either placement, that in running text first."""
    vocabulary = tokenizer.get_vocab()
    if not takes_entries(tokenizer):
        return {word: [vocabulary[word]] for word in words if word in vocabulary}
    own, found = own_normalizer(tokenizer), {}
    ways: tuple[tuple[Placement, bool], ...] = (("append", True), ("replace", True), ("replace", False))
    for word in words:
        for placement, whole in ways:
            _, entries = _entries(tokenizer.backend_tokenizer, normalized(own, word), placement, whole)
            if entries and entries[0] in vocabulary:
                found[word] = [vocabulary[entry] for entry in entries if entry in vocabulary]
                break
    return found


def added_words(tokenizer: Any, first: int) -> dict[str, list[int]]:
    """The words that got the tokens from ``first`` on, in order, with their token ids."""
    found: dict[str, list[int]] = {}
    for token, name in sorted((token, name) for name, token in tokenizer.get_vocab().items() if token >= first):
        found.setdefault(form_of(_text(tokenizer.backend_tokenizer, token, name)), []).append(token)
    return found


def appended_tokens(tokenizer: Any) -> set[int]:
    """The tokens that stand behind the subwords of their word."""
    return {token for token, name in _ruled(tokenizer).items() if name.endswith(CLOSE)}


def ruled_words(tokenizer: Any) -> set[str]:
    """The words that need rules to be found."""
    return set(map(form_of, _ruled(tokenizer).values()))


def has_rules(tokenizer: Any) -> bool:
    """Whether a tokenizer has rules for any word."""
    normalizer = tokenizer.backend_tokenizer.normalizer
    return isinstance(normalizer, normalizers.Sequence) and BEGIN in normalizer.__getstate__().decode()


def remove_entries(tokenizer: Any, first: int) -> None:
    """Take the tokens from ``first`` on, and all rules, from a tokenizer in place."""
    stored, own = json.loads(tokenizer.backend_tokenizer.to_str()), own_normalizer(tokenizer)
    vocabulary = stored["model"]["vocab"]
    if isinstance(vocabulary, list):
        del vocabulary[first:]
    else:
        stored["model"]["vocab"] = {name: token for name, token in vocabulary.items() if token < first}
    stored["added_tokens"] = [one for one in stored["added_tokens"] if one["id"] < first]
    _set_rules(stored, own, [])
    _load(tokenizer, stored)


def takes_entries(tokenizer: Any) -> bool:
    """Whether a word can be an entry: the tokenizer's model gets text word by word, and keeps what it is given.

    Transformers rebuilds a tokenizer of Qwen from vocabulary and merges alone, whatever its files say.
    """
    backend = tokenizer.backend_tokenizer
    if backend.pre_tokenizer is None or type(tokenizer).__name__.startswith("Qwen"):
        return False
    text = "a b" if backend.normalizer is None else backend.normalizer.normalize_str("a b")
    return len(backend.pre_tokenizer.pre_tokenize_str(text)) > 1


def shares_beginnings(tokenizer: Any) -> bool:
    """Whether a word's entry is also read at the start of longer words, as WordPiece does."""
    return type(tokenizer.backend_tokenizer.model).__name__ == "WordPiece" and takes_entries(tokenizer)


def own_normalizer(tokenizer: Any) -> Any:
    """A tokenizer's normalizer without the rules."""
    normalizer = tokenizer.backend_tokenizer.normalizer
    if not has_rules(tokenizer):
        return normalizer
    members = json.loads(normalizer.__getstate__())["normalizers"]
    own = [normalizer[at] for at, one in enumerate(members) if BEGIN not in json.dumps(one, ensure_ascii=False)]
    return normalizers.Sequence(own) if len(own) > 1 else own[0] if own else None


def normalized(normalizer: Any, word: str) -> str:
    """A word as a normalizer leaves it in running text."""
    if normalizer is None:
        return " ".join(word.split())
    before = normalizer.normalize_str("x ")
    return " ".join(normalizer.normalize_str("x " + word)[len(before) :].strip(" ▁").split())


def _entries(backend: Any, form: str, placement: Placement, whole: bool) -> tuple[str, list[str]]:
    """The name by which rules know a word, if it needs them, and its entries: ``ᐸcur, [ᐸcur]``."""
    kind = type(backend.model).__name__
    by_rule = placement == "append" or kind == "Unigram" or _glues(backend) or (whole and kind == "WordPiece")
    entries = [] if by_rule else _pretokens(backend, form)
    if entries or not form:
        return "", entries
    name = OPEN + "".join(map(as_letter, form)) + (CLOSE if placement == "append" else "")
    if not RULED.match(name):  # the word itself is written in the letters of the marks
        return "", []
    return name, list(dict.fromkeys([*_pretokens(backend, name), *([name] if kind == "Unigram" else [])]))


def _pretokens(backend: Any, form: str) -> list[str]:
    """What a word is to the model behind a space and at the start of a text, if it is in one piece there."""
    behind, alone = (backend.pre_tokenizer.pre_tokenize_str(text) for text in (f"a {form}", form))
    if len(behind) != 2 or len(alone) != 1:
        return []
    return list(dict.fromkeys([behind[1][0], alone[0][0]]))


def _glues(backend: Any) -> bool:
    """Whether BPE gets a word together with the sign before it, ``(kumquat``, as in Llama 3."""
    return type(backend.model).__name__ == "BPE" and len(backend.pre_tokenizer.pre_tokenize_str("(a")) == 1


def _extend(model: dict[str, Any], vocabulary: dict[str, int], first: int) -> None:
    """Put new entries, from ``first`` on, into a stored model, and added tokens, which keep their ids only there."""
    own = model["vocab"]
    if isinstance(own, list):
        names = {token: name for name, token in vocabulary.items()}
        least = min((score for _, score in own), default=0.0)
        # A new entry gets the best score: nothing else has letters like its own.
        own += [[names.get(at, ""), 0.0 if at >= first else least] for at in range(len(own), max(names) + 1)]
        return
    model["vocab"] = vocabulary | own
    if model["type"] == "BPE":
        model["ignore_merges"] = True  # a whole word is looked up before it is merged from characters


def _load(tokenizer: Any, stored: dict[str, Any]) -> None:
    """Give a tokenizer a new backend, and the general class if its own would not take all that is in it."""
    try:
        tokenizer._tokenizer = Tokenizer.from_str(json.dumps(stored, ensure_ascii=False))
    except Exception as error:  # the tokenizers library raises nothing more special
        problem = f"the tokenizer cannot be changed ({error!s:.100}); restore its files"
        raise InputError(problem, code="tokenizer") from None
    if stored["model"]["type"] != "WordPiece" or has_rules(tokenizer):
        # GPT2Tokenizer, for one, takes only vocabulary and merges from tokenizer.json.
        names = list(tokenizer.model_input_names)
        tokenizer.__class__ = PreTrainedTokenizerFast
        tokenizer.model_input_names = tokenizer.init_kwargs["model_input_names"] = names


def _ruled(tokenizer: Any) -> dict[int, str]:
    """The tokens that need rules and the names of their entries, which BPE gives two each, as they were added."""
    backend = tokenizer.backend_tokenizer
    if backend.pre_tokenizer is None:
        return {}
    starts = (*_pretokens(backend, OPEN), OPEN)
    found = sorted((token, name) for name, token in tokenizer.get_vocab().items() if name.startswith(starts))
    return {token: text for token, name in found if RULED.match(text := _text(backend, token, name))}


def _text(backend: Any, token: int, name: str) -> str:
    """A token as it stands in text."""
    return backend.decode([token], skip_special_tokens=False).strip(" ▁") or name


def _set_rules(stored: dict[str, Any], own: Any, names: Collection[str], *, isolate: bool = False) -> None:
    """Give a stored tokenizer the rules of these entries and no others; ``isolate`` them from signs before them."""
    cutter = stored["pre_tokenizer"]
    if cutter is not None and cutter.get("pretokenizers", [None])[0] == _SPLIT:
        cutter = cutter["pretokenizers"][1]
    stored["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [_SPLIT, cutter]} if isolate and names else cutter
    stored["normalizer"] = kept = None if own is None else json.loads(own.__getstate__())
    if names:
        members = [] if kept is None else kept["normalizers"] if kept["type"] == "Sequence" else [kept]
        steps = [{"type": "Replace", "pattern": {"Regex": old}, "content": new} for old, new in rules(names)]
        stored["normalizer"] = {"type": "Sequence", "normalizers": [*members, *steps]}
