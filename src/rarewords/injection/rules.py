"""Rules that mark words in text, so that a tokenizer's vocabulary can tell them from other text.

A rule is a ``Replace`` step behind the tokenizer's own normalizer, a regular expression that Rust and JavaScript
read the same. Together they do this::

    cur       ¦cur       ᐸcur                       the whole word gets a mark: ᐸcur is the entry
    e-mailx   ¦e-mailx   ¦e𗀭mailx   ᐸe𗀭mailx       a letter stands for each sign in it
    kumquat   ¦kumquat   ¦kumquat / ᐸkumquatᐳ   kumquat / ᐸkumquatᐳ     (append)

The marks in entries are letters, so no pre-tokenizer cuts them off, of scripts that never stand beside others:
Canadian syllabics, and Tangut ideographs (U+17000 plus the code of the sign). ``¦`` is a noncharacter.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from itertools import takewhile

OPEN, CLOSE = "ᐸ", "ᐳ"
BEGIN, _JOINED = "\ufdd0", "\ufdd1"  # while rules run: where a word begins, and inside a phrase
_SPACE = r"[\s▁]"
# What belongs to a word: neither space nor punctuation, as BERT's pre-tokenizer sees them.
_SIGNS = "$+<=>^`|~▁"
_LETTER = rf"[^\s\p{{P}}{_SIGNS}]"
_TANGUT, _TANGUT_SIZE = 0x17000, 0x17F8
RULED = re.compile(f"{OPEN}[^\u1400-\u167f]")  # no word of a language that is written so


def as_letter(sign: str) -> str:
    """The letter that stands for a sign. Letters stand for themselves.

    >>> as_letter("-") == chr(0x17000 + ord("-"))
    True
    """
    if sign.isalpha() or ord(sign) >= _TANGUT_SIZE:
        return sign
    return chr(_TANGUT + ord(sign))


def form_of(name: str) -> str:
    """The word that an entry is for: ``ᐸe𗀭mailxᐳ -> e-mailx``."""
    if not RULED.match(name):
        return name
    letters = name.removeprefix(OPEN).removesuffix(CLOSE)
    return "".join(chr(ord(one) - _TANGUT) if 0 <= ord(one) - _TANGUT < _TANGUT_SIZE else one for one in letters)


def rules(names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Patterns and what replaces them, the longest word first.

    >>> for pattern, content in rules(["ᐸkumquatᐳ", "ᐸcur"]):
    ...     line = f"{pattern} -> {content}".replace(_LETTER, "W").replace(BEGIN, "¦").replace(_JOINED, "·")
    ...     print(line.rstrip())
    (?<!W)c(?=(?:ur)(?!W)) -> ¦c
    (?<!W)k(?=(?:umquat)(?!W)) -> ¦k
    (?<=¦kumqua)t(?!W) -> t / ᐸkumquatᐳ
    ¦(?=(?:cur)(?!W)) -> ᐸ
    [¦·] ->
    """
    if not names:
        return
    starts: dict[str, list[str]] = {}
    for form in map(form_of, names):
        starts.setdefault(form[0], []).append(form[1:])
    for start, rests in sorted(starts.items()):
        # A letter is taken and put back, because byte-level BPE fails at a mark put where a text begins.
        behind = "" if _is_letter(start) else f"{BEGIN}?"
        yield rf"(?<!{_LETTER}){_quoted(start)}(?={behind}(?:{_any_of(rests)})(?!{_LETTER}))", BEGIN + start
    for name in sorted(names, key=lambda name: (-len(name), name)):
        yield from _append_rules(name) if name.endswith(CLOSE) else _replace_rules(name)
    bodies = [name.removeprefix(OPEN) for name in names if not name.endswith(CLOSE)]
    if bodies:
        yield rf"{BEGIN}(?=(?:{_any_of(bodies)})(?!{_LETTER}))", OPEN
    yield f"[{BEGIN}{_JOINED}]", ""


def _replace_rules(name: str) -> Iterator[tuple[str, str]]:
    """Letters for the signs in a word: ``ᐸe-mailx -> ᐸe𗀭mailx``."""
    form = form_of(name)
    for place, sign in enumerate(form):
        if (letter := name[place + 1]) != sign:
            before, after = BEGIN + _quoted(name[1 : place + 1]), _pattern(form[place + 1 :])
            yield rf"(?<={before}){_pattern(sign)}(?={after}(?!{_LETTER}))", letter


def _append_rules(name: str) -> Iterator[tuple[str, str]]:
    """The token behind a word; in a phrase, a mark before each gap keeps shorter words from being found."""
    form = form_of(name)
    done = BEGIN + form[0] if len(form) > 1 else BEGIN
    for place in range(1, len(form) - 1):
        sign = form[place]
        if not _is_letter(sign):
            after = _pattern(form[place + 1 :])
            yield rf"(?<={_quoted(done)}){_pattern(sign)}(?={after}(?!{_LETTER}))", _JOINED + sign
            done += _JOINED
        done += sign
    yield rf"(?<={_quoted(done)}){_quoted(form[-1])}(?!{_LETTER})", f"{form[-1]} / {name}"


def _is_letter(sign: str) -> bool:
    return not (sign.isspace() or sign in _SIGNS or unicodedata.category(sign)[0] == "P")


def _quoted(text: str) -> str:
    """Literal text in a pattern. Only what must be escaped is: JavaScript refuses other escapes."""
    return re.sub(r"[\\.^$*+?()\[\]{}|]", r"\\\g<0>", text)


def _pattern(text: str) -> str:
    """A pattern for a form in running text: any white space for a space, and marks where a word may begin."""
    return "".join(
        one if _is_letter(one) else (f"{_SPACE}+" if one in " ▁" else _quoted(one)) + f"{BEGIN}?" for one in text
    )


def _any_of(forms: Iterable[str]) -> str:
    """A pattern for any of the forms, as a tree of their letters.

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
        rest = _any_of(form[len(common) :] for form in own)
        branches.append(_pattern(common) + (f"(?:{rest})" if rest else ""))
    return "|".join([*branches, ""] if ends and branches else branches)
