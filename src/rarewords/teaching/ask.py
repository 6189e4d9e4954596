"""What a model says: about a text, about words before and after they are taught, and as directions in its space.

People see the answers to a question that suits how the text uses the word. The words around it that decide are
English (``assets/english.toml``). Of text in another language, the known words nearest to the embedding are
shown instead of an answer to a sentence that the model cannot read.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from rarewords.learner.english import ENGLISH
from rarewords.learner.known_words import KnownWords
from rarewords.learner.masked import find_word
from rarewords.lm import LanguageModel
from rarewords.queries import InputRow, Query
from rarewords.tokens import BLANK, WORD_SLOT, Placement

_TOKENS_PER_BATCH = 2048
_COMPARED = 4000  # frequent words
_CONTINUATION = 6  # tokens

Use = Literal["noun", "plural", "adjective", "verb", "name"]
QUESTIONS: dict[Use, str] = {
    "name": "<W> is the name of a _.",  # a capital inside the sentence, in most of its sentences
    "verb": "to <W> is to _.",  # "to", "will", "can", "must" ... before it
    "plural": "<W> are a kind of _.",  # ends in -s; seldom "a", "each" ... before or "is" behind it
    "adjective": "it is <W> and _.",  # "very", "is" ... before it, or a noun behind it; ends in -al, -ic, -ous ...
    "noun": "a <W> is a kind of _.",
}
# Asked to check a word; the answers to the first are shown by a scan.
_PLAIN = ("a <W> is a kind of _.", "<W> and _.", "the <W> is _.")
_SHOWN, _WEIGHED = 5, 20  # answers
_WORD = re.compile(r"[^\W\d_]+|\d+")
_BEFORE, _AFTER = re.compile(r"(\w+) $"), re.compile(r" (\w+)")
_ADJECTIVE = re.compile("(?:al|ic|ous|ive|ful|ary|ar|ent|ant|ble|less|ish|ile|ose|oid)$")
_INSIDE = re.compile(r"[\w,;] $")  # what stands before a word that does not begin a sentence or a quotation
_ENGLISH_SHARE = 0.05  # of all words are frequent English ones


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


@dataclass(frozen=True)
class WordAnswers:
    """The first answers to a question about a word, with its subwords and with its embedding.

    :param question: if empty, ``before`` holds the subwords and ``after`` the nearest known words.
    """

    question: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def show_words(
    lm: LanguageModel,
    words: Sequence[str],
    embeddings: np.ndarray,
    contexts: Sequence[Sequence[str]],
    *,
    placement: Placement = "replace",
    question: str | None = None,
) -> list[WordAnswers]:
    """What to show about each word.

    :param embeddings: *Shape:* (words, dim)
    :param contexts: some sentences of each word.
    :param question: instead of one that suits how they use it.
    """
    if question is None and not is_english([sentence for own in contexts for sentence in own]):
        return _nearest(lm, words, embeddings)
    uses = [use_of(word, own, lower_case=lm.lower_case) for word, own in zip(words, contexts, strict=True)]
    asked = [question or QUESTIONS[use] for use in uses]
    patterns = [with_article(one, word) for one, word in zip(asked, words, strict=True)]
    before = map(Query, patterns, words)
    after = (Query(*one, placement) for one in zip(patterns, words, embeddings, strict=True))
    answers = lm.fill([*before, *after], top_k=_SHOWN)
    found = [tuple(answers.words(row)) for row in range(2 * len(words))]
    return [WordAnswers(one, found[row], found[row + len(words)]) for row, one in enumerate(asked)]


def ask_about(
    lm: LanguageModel,
    known: KnownWords,
    words: Sequence[str],
    embeddings: np.ndarray,
    *,
    placement: Placement | None = None,
) -> tuple[list[tuple[str, ...]], Tensor]:
    """Ask a model about words by their subwords, or in a placement with their embeddings as if they were taught.

    :param embeddings: *Shape:* (words, dim)
    :return: the first answers to ``a <W> is a kind of _.`` for each word; and the mean cosine of where the
        answers point with the word's embedding, *shape* (words,)
    """
    asked = []
    for word, embedding in zip(words, embeddings, strict=True):
        taught = () if placement is None else (embedding, placement)
        asked += [Query(with_article(question, word), word, *taught) for question in _PLAIN]
    answers = lm.fill(asked, top_k=_WEIGHED, quick=True)
    log_probs = torch.from_numpy(answers.log_probs).to(known.mean)
    answered = lm.embeddings[torch.from_numpy(answers.ids).to(lm.device)].float()
    expected = (torch.softmax(log_probs, dim=-1)[..., None] * answered).sum(-2)
    directions = known.directions(expected).reshape(len(words), len(_PLAIN), -1)
    towards = known.directions(torch.from_numpy(embeddings))[:, None]
    shown = [tuple(answers.words(row, _SHOWN)) for row in range(0, len(asked), len(_PLAIN))]
    return shown, (directions * towards).sum(-1).mean(-1)


def with_article(question: str, word: str) -> str:
    """The question with *an* before a word that begins with a vowel.

    >>> with_article("a <W> is a kind of _.", "onion")
    'an <W> is a kind of _.'
    """
    vowel = word.lower().startswith(tuple("aeiou"))
    return re.sub(rf"\b([Aa]) {WORD_SLOT}", rf"\1n {WORD_SLOT}", question) if vowel else question


def as_title(question: str) -> str:
    """The question above a table of several words: ``a … is a kind of _``."""
    return question.replace(WORD_SLOT, "…").rstrip(". ") if question else "subwords; nearest known words"


def is_english(sentences: Sequence[str]) -> bool:
    """Whether at least one word in twenty is one of the most frequent English function words."""
    words = [word for sentence in sentences for word in _WORD.findall(sentence.lower())]
    return sum(word in ENGLISH["frequent"] for word in words) >= _ENGLISH_SHARE * len(words)


def use_of(word: str, sentences: Sequence[str], *, lower_case: bool = True) -> Use:
    """How sentences use a word; :data:`QUESTIONS` says what speaks for each use.

    >>> use_of("kumquats", ["He ate two kumquats.", "Many kumquats grow here."])
    'plural'
    """
    plural = word.endswith("s") and not word.endswith(("ss", "us", "is"))
    seen: Counter[str] = Counter()
    for sentence in sentences:
        found = find_word(word, sentence, lower_case=lower_case)
        if found is None:
            continue
        start, end = found
        spelled, left = sentence[start:end], sentence[:start]
        if _INSIDE.search(left):
            seen["capital" if spelled[:1].isupper() and not spelled.isupper() else "small"] += 1
        preceding, following = _BEFORE.search(left.lower()), _AFTER.match(sentence[end:].lower())
        before, after = preceding[1] if preceding else "", following[1] if following else ""
        ends = not after or after in ENGLISH["behind_phrase"]  # the word's phrase or the sentence
        if plural:  # an article tells nothing: "the planets"
            seen["noun"] += before in ENGLISH["before_singular"] or after in ENGLISH["behind_singular"]
            many = before in ENGLISH["before_plural"] or before.isdigit()
            seen["plural"] += many or after in ENGLISH["behind_plural"]
        elif before in ENGLISH["before_verb"]:
            seen["verb"] += 1
        elif before in ENGLISH["before_predicate"]:
            seen["predicate"] += 1
        elif before in ENGLISH["article"] or (before in ENGLISH["preposition"] and ends):
            seen["noun" if ends else "modifier"] += 1
    if seen["capital"] > seen["small"]:
        return "name"
    if plural:
        return "noun" if seen["noun"] > seen["plural"] else "plural"
    if seen["verb"] > seen["noun"] + seen["predicate"] + seen["modifier"]:
        return "verb"
    # A noun stands before another noun as well; it seldom has such an ending or follows "is" or "very" twice.
    likely = seen["predicate"] > 1 or _ADJECTIVE.search(word)
    if likely and seen["predicate"] + seen["modifier"] > seen["noun"]:
        return "adjective"
    return "noun"


def _nearest(lm: LanguageModel, words: Sequence[str], embeddings: np.ndarray) -> list[WordAnswers]:
    known = KnownWords.of(lm)
    cosines = known.directions(torch.from_numpy(embeddings)) @ known.directions(known.embeddings).T
    ids = known.ids[cosines.topk(min(_SHOWN, len(known.ids)), dim=1).indices]
    subwords = lm.tokens.subwords_of(words)
    return [
        WordAnswers("", tuple(lm.tokens.subword_strings(own)), tuple(lm.tokens.text_of(near)))
        for own, near in zip(subwords, ids.tolist(), strict=True)
    ]
