"""Rules in ``tokenizer.json`` that put a word's own token behind its subwords.

With them plain ``transformers`` reads ``kumquat`` as ``ku ##m ##qua ##t / <kumquat>``. They run behind the
tokenizer's own normalizer and rewrite its text:

    a kumquat.                  as the tokenizer's own normalizer leaves it
    a kumquat /<⁞>.             known words get an empty frame; the longest match wins
    a ¦kumquat /<⁞>.            where such a word begins
    a ¦kumquat /<⁞kumquat>.     its name
    a kumquat /<kumquat>.       what the tokenizer looks for

Every rule costs every text a search, so up to a hundred words are named in full, by a rule each. More are
numbered, and the numbers are written digit by digit, by one rule for all words with this digit in this place:
thirty rules for a thousand words. The tokenizer then looks for ``<⁞17>``, and shows the token so; the rules
turn the token's own name ``<kumquat>`` into the same. The marks written ``¦`` and ``⁞`` here are
noncharacters of Unicode, which no text contains.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from tokenizers import Regex, normalizers

from rarewords._internal.files import read_json, write_json

_BEGIN, _OPEN = "\ufdd0", "\ufdd1"
_SPACE = r"[\s▁]"
_NAMED = 100


def token_name(word: str) -> str:
    """The name of the token that stands behind a word's subwords: ``<kumquat>``"""
    return f"<{word}>"


def words_with_rules(tokenizer: Any) -> dict[str, int]:
    """The words that a tokenizer has rules for, with their tokens, in the order they were added."""
    if _first_rule(tokenizer.backend_tokenizer.normalizer) is None:
        return {}
    added = sorted(tokenizer.get_added_vocab().items(), key=lambda item: item[1])
    named = {name[1:-1]: token for name, token in added if name == token_name(name[1:-1])}
    encoded = tokenizer.backend_tokenizer.encode_batch(list(named), add_special_tokens=False)
    return {
        word: token for (word, token), one in zip(named.items(), encoded, strict=True) if token in one.ids
    }


def own_normalizer(tokenizer: Any) -> Any:
    """A tokenizer's normalizer without the rules."""
    normalizer = tokenizer.backend_tokenizer.normalizer
    first = _first_rule(normalizer)
    if first is None:
        return normalizer
    own = [normalizer[place] for place in range(first)]
    return normalizers.Sequence(own) if len(own) > 1 else own[0] if own else None


def set_rules(tokenizer: Any, words: Sequence[str]) -> None:
    """Give a tokenizer rules for these words and no others. Their tokens must be added afterwards."""
    own = own_normalizer(tokenizer)
    forms = [normalized(own, word) for word in words]
    named = len(forms) <= _NAMED
    names = [(form,) for form in forms] if named else [tuple(str(number)) for number in range(len(forms))]
    slash, every = _added(own, "x", " /"), _any_of(forms)
    opened = rf"{re.escape(slash)}<{_OPEN}"
    rules = [
        (rf"(?<!\w)(?:{every})(?!\w)\K", f"{slash}<{_OPEN}>"),
        (rf"(?<!\w)(?=(?:{every}){opened}>)", _BEGIN),
        # Not where a word is the end of a longer one, as vein in deep vein.
        (rf"(?:{_BEGIN}|\G(?!\A))[^{_BEGIN}{_OPEN}]*\K{_BEGIN}", ""),
        *((rf"{_BEGIN}(?:{_any_of(having)}){opened}\K", part) for part, having in _parts(names, forms)),
        # The token's own name is normalized as a text of its own: only <⁞17> is left of <¦kumquat /<⁞17>>.
        (rf"\A{_SPACE}*<{_SPACE}*{_BEGIN}[^{_OPEN}]*(?=<{_OPEN}.+>{_SPACE}*>{_SPACE}*\z)", _BEGIN),
        (rf"\A{_BEGIN}<{_OPEN}.+>\K{_SPACE}*>{_SPACE}*\z", ""),
        (f"[{_BEGIN}{_OPEN}]" if named else _BEGIN, ""),
    ]
    replaced = [normalizers.Replace(Regex(pattern), content) for pattern, content in rules]
    tokenizer.backend_tokenizer.normalizer = normalizers.Sequence([*([own] if own else []), *replaced])


def save_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Save a tokenizer so that it keeps its rules when it is loaded.

    The class of an architecture, such as ``BertTokenizer``, sets its own normalizer and drops the rules; the
    general class takes everything from ``tokenizer.json``.
    """
    tokenizer.save_pretrained(folder)
    if _first_rule(tokenizer.backend_tokenizer.normalizer) is not None:
        path = folder / "tokenizer_config.json"
        names = {"model_input_names": list(tokenizer.model_input_names)}
        write_json(path, {**read_json(path), **names, "tokenizer_class": "PreTrainedTokenizerFast"})


def normalized(normalizer: Any, word: str) -> str:
    """A word as a normalizer leaves it in running text."""
    return _added(normalizer, "x ", word).strip(" ▁")


def _added(normalizer: Any, before: str, text: str) -> str:
    if normalizer is None:
        return text
    return str(normalizer.normalize_str(before + text)[len(normalizer.normalize_str(before)) :])


def _first_rule(normalizer: Any) -> int | None:
    """The place of the first rule among the members of a normalizer; None if it has no rules."""
    if not isinstance(normalizer, normalizers.Sequence):
        return None
    members = json.loads(normalizer.__getstate__())["normalizers"]
    return next((place for place, one in enumerate(members) if _OPEN in str(one.get("content"))), None)


def _parts(names: Sequence[tuple[str, ...]], forms: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each part of a name with the words that have it in this place, the last place first."""
    for place in range(max(map(len, names))):
        having: dict[str, list[str]] = {}
        for name, form in zip(names, forms, strict=True):
            for part in name[::-1][place : place + 1]:
                having.setdefault(part, []).append(form)
        yield from having.items()


def _any_of(forms: Iterable[str]) -> str:
    """A regular expression for any of the texts, as a tree of their letters, in which the longest wins.

    >>> _any_of(["kumquat", "kumquats", "kale", "oca"])
    'k(?:ale|umquat(?:s|))|oca'
    """
    groups: dict[str, list[str]] = {}
    for form in sorted(set(forms)):
        groups.setdefault(form[:1], []).append(form)
    ends = groups.pop("", None) is not None
    branches = []
    for own in groups.values():
        shared = takewhile(lambda pair: pair[0] == pair[1], zip(own[0], own[-1], strict=False))
        common = "".join(letter for letter, _ in shared)  # of all: they are sorted
        letters = "".join(f"{_SPACE}+" if letter in " ▁" else re.escape(letter) for letter in common)
        rest = _any_of(form[len(common) :] for form in own)
        branches.append(letters + (f"(?:{rest})" if rest else ""))
    return "|".join([*branches, ""] if ends and branches else branches)
