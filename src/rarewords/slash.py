"""Slash use: the word's own pieces and its vector side by side, ``kumquat / <kumquat>``."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TOKEN = re.compile(r"\w+|[^\w\s]")


class SlashRewriter:
    """Rewrites text so that each known word is followed by a slash and its token.

    >>> SlashRewriter(["kumquat"])("A Kumquat, two kumquats")
    'A Kumquat / <kumquat>, two kumquats'
    """

    def __init__(self, words: Iterable[str], *, lower_case: bool = True) -> None:
        self._lower_case = lower_case
        self._words: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for word in words:
            parts = tuple(_TOKEN.findall(self._fold(word)))
            if parts:
                self._words.setdefault(parts[0], []).append((parts, word))
        for candidates in self._words.values():
            candidates.sort(key=lambda candidate: -len(candidate[0]))  # the longest phrase wins

    def __call__(self, text: str) -> str:
        matches = list(_TOKEN.finditer(text))
        parts = [self._fold(match.group()) for match in matches]
        result, copied, place = [], 0, 0
        while place < len(parts):
            found = self._longest(parts, place)
            if found is None:
                place += 1
                continue
            word, length = found
            place += length
            end = matches[place - 1].end()
            result.append(text[copied:end] + f" / <{word}>")
            copied = end
        return "".join(result) + text[copied:]

    def _longest(self, parts: list[str], place: int) -> tuple[str, int] | None:
        for candidate, word in self._words.get(parts[place], ()):
            if tuple(parts[place : place + len(candidate)]) == candidate:
                return word, len(candidate)
        return None

    def _fold(self, text: str) -> str:
        return text.lower() if self._lower_case else text


def slash_text(text: str, words: Iterable[str], *, lower_case: bool = True) -> str:
    """Rewrite one text; for many, keep a :class:`SlashRewriter`."""
    return SlashRewriter(words, lower_case=lower_case)(text)
