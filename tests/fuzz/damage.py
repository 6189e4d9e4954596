"""Ways to damage a file: bytes, JSON values and lists of words, as hypothesis strategies."""

import copy
import json

from hypothesis import strategies as st

DEEP = 100_000  # levels of nesting
ODD_WORDS = (
    *("kumquat", "Kumquat", "ku", "x" * 5000, "ice cream", "naïve", "e\u0301", "ﬁ", "İ", "ß", "ſ"),
    *("🍊", "👩‍👩‍👧", "🇩🇪", "مرحبا", "שלום", "\u202eabc\u202c", "\u200b", "a\u200bb", "\u00ad", "\ufeff"),
    *("[MASK]", "[UNK]", "[CLS]", "[PAD]", "<mask>", "<s>", "##ing", "Ġword", "▁word", "_", "<W>", "/"),
    *("\x00", "a\x00b", "\x1b[31m", "\x85", "\u2028", "..", "-", "#", "'", '"', "\\", "{}", "%s", "漢字", "𝔘"),
)
ODD_VALUES = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 2**70, -(2**70), 0.5, -1e308, float("nan"), float("inf")),
    *("", "x", "0", "\x00", "🍊", [], [1], ["x"], [[]], {}, {"x": 1}, [None], "rarewords"),
)


@st.composite
def damaged(draw, raw):
    """Some bytes with bits flipped, cut off, doubled, zeroed, or replaced altogether."""
    kind = draw(st.sampled_from(("flip", "flip", "flip", "cut", "zero", "double", "insert", "other", "empty")))
    if kind == "empty" or not raw:
        return b""
    if kind == "other":
        return draw(st.binary(max_size=200))
    place = draw(st.integers(0, len(raw) - 1))
    if kind == "flip":
        changed = bytearray(raw)
        for _ in range(draw(st.integers(1, 3))):
            # Headers are short and matter most, so half of the flips are near the start.
            place = draw(st.one_of(st.integers(0, min(200, len(raw)) - 1), st.integers(0, len(raw) - 1)))
            changed[place] ^= 1 << draw(st.integers(0, 7))
        return bytes(changed)
    end = draw(st.integers(place, min(place + 64, len(raw))))
    middle = {
        "cut": b"",
        "zero": bytes(end - place),
        "double": raw[place:end] * 2,
        "insert": draw(st.binary(max_size=20)),
    }
    return raw[:place] + middle[kind] + (b"" if kind == "cut" else raw[end:])


@st.composite
def mangled(draw, value):
    """The text of a JSON value in which one to three parts are missing or have another type or value."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        found = list(places(value))
        if not found:
            break
        holder, key = draw(st.sampled_from(found))
        action = draw(st.sampled_from(("remove", "odd", "odd", "odd", "deep", "more")))
        if action == "remove":
            del holder[key]
        elif action == "more" and isinstance(holder, dict):
            holder[draw(st.sampled_from(("x", "auto_map", "quantization_config", "format", "")))] = "x"
        else:
            holder[key] = "<deep>" if action == "deep" else copy.deepcopy(draw(st.sampled_from(ODD_VALUES)))
    return json.dumps(value).replace('"<deep>"', "[" * DEEP + "]" * DEEP).encode()


def places(value):
    """Every (container, key) of a JSON value, of a large container a few."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs)[:50]:
        yield value, key
        yield from places(inner)


words_files = st.one_of(
    st.lists(st.sampled_from(ODD_WORDS), max_size=8).map(lambda words: "\n".join(words).encode()),
    st.lists(st.text(max_size=8), max_size=5).map(lambda words: "\n".join(words).encode("utf-8", "replace")),
    st.binary(max_size=60),
)
