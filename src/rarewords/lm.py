"""One wrapper over any Hugging Face language model; only a masked one fills blanks.

The only file that knows architectures differ: where the prediction head is, what the input embeddings are,
how a sequence becomes hidden states. Through ``inputs_embeds`` a word may be its pieces or a free vector.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from rarewords.engine import batches_by_length, in_threads
from rarewords.errors import InputError
from rarewords.models import DEFAULT_MODEL, Kind, choose_device, load_pretrained
from rarewords.progress import progress
from rarewords.tokens import Tokens, with_slot

R = TypeVar("R")
_TOKENS_ON_CPU, _TOKENS_ON_GPU = 2048, 65536  # per batch of queries
# The modules between the last hidden state and the logits. The first row whose names the model has is used; a
# model with none of them computes logits at every position, which is slower but gives the same numbers.
_HEADS = (
    ("cls",),
    ("lm_head",),
    ("predictions",),
    ("generator_predictions", "generator_lm_head"),
    ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector"),
    ("head", "decoder"),
)


@dataclass(frozen=True)
class Query:
    """A pattern and the keyword that goes into it.

    :param pattern: text with one ``_`` and at most one ``<W>``, such as ``"a <W> is a kind of _ ."``
    :param vector: stands for the keyword; without it the model reads the pieces. *Shape:* (dim,)
    :param slash: show both, ``kumquat / <vector>``, instead of the vector alone.
    """

    pattern: str
    word: str = ""
    vector: np.ndarray | Tensor | None = None
    slash: bool = False


@dataclass(frozen=True, slots=True)
class InputRow:
    """Token ids that a model reads, with a vector in place of ``ids[slot]`` if there is one."""

    ids: Sequence[int] | np.ndarray
    slot: int = 0
    vector: np.ndarray | Tensor | None = None


@dataclass(frozen=True)
class Answers:
    """The most probable fillers of each query's blank, best first.

    :param ids: token ids. *Shape:* (queries, k)
    :param log_probs: their natural log-probabilities. *Shape:* (queries, k)
    """

    ids: np.ndarray
    log_probs: np.ndarray
    tokens: Tokens

    def words(self, query: int, k: int | None = None) -> list[str]:
        """The first ``k`` answers to one query as text."""
        return self.tokens.text_of(self.ids[query, :k].tolist())

    def as_json(self, query: int) -> list[dict[str, Any]]:
        """The answers to one query with their probabilities, to four digits."""
        pairs = zip(self.words(query), self.log_probs[query].tolist(), strict=True)
        return [{"word": word, "probability": round(math.exp(log_prob), 4)} for word, log_prob in pairs]


class LanguageModel:
    """A masked language model and its tokenizer.

    >>> lm = LanguageModel.from_pretrained("default")  # doctest: +SKIP
    >>> lm.fill([Query("a <W> is a kind of _ .", "lime")], top_k=3).words(0)  # doctest: +SKIP
    ['tree', 'plant', 'fruit']
    """

    def __init__(self, model: Any, tokenizer: Any, *, name: str = "model", kind: Kind = "masked") -> None:
        self.model = model.eval()
        for parameter in self.model.parameters():
            parameter.requires_grad_(False)
        self.tokens = Tokens(tokenizer)
        self.tokenizer = tokenizer
        self.name, self.kind = name, kind
        self._base: nn.Module = model.base_model
        self._embedding: nn.Embedding = model.get_input_embeddings()
        heads: Iterator[list[Any]] = ([getattr(model, name, None) for name in names] for names in _HEADS)
        self._head = next((modules for modules in heads if None not in modules), None)

    @classmethod
    def from_pretrained(
        cls, name: str | Path = DEFAULT_MODEL, *, device: str = "auto", kind: Kind = "masked"
    ) -> Self:
        """Load a model: ``default`` is the bundled one, otherwise a local folder or a hub name.

        :param device: ``auto`` (the best there is), ``cuda``, ``cuda:1``, ``mps`` or ``cpu``.
        :param kind: ``masked``; or, to be taught with vectors of a reader, ``encoder`` or ``causal``.
        """
        chosen = choose_device(device)
        model, tokenizer = load_pretrained(name, kind)
        return cls(model.to(chosen, torch.float32), tokenizer, name=str(name), kind=kind)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its name: another process loads the model itself, once."""
        precision, about = torch.get_float32_matmul_precision(), (str(self.device), self.dtype, self.kind)
        return _unpickled, (precision, self.fingerprint, self.name, *about)

    @property
    def device(self) -> torch.device:
        """The device the model computes on."""
        return self._embedding.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """The number type it computes in."""
        return self._embedding.weight.dtype

    @property
    def dim(self) -> int:
        """The size of an input embedding; in some architectures less than a hidden state's."""
        return int(self._embedding.weight.shape[1])

    @property
    def hidden(self) -> int:
        """The size of a hidden state."""
        return int(getattr(self.model.config, "hidden_size", self.dim))

    @property
    def layers(self) -> int:
        """The number of layers, not counting the embedding output."""
        return int(self.model.config.num_hidden_layers)

    @property
    def max_length(self) -> int:
        """The longest sequence the model takes, special tokens included."""
        positions = int(getattr(self.model.config, "max_position_embeddings", 512))
        # RoBERTa and its kin number positions from the padding id + 1 on, so that many are lost.
        table = getattr(getattr(self._base, "embeddings", None), "position_embeddings", None)
        padding = getattr(table, "padding_idx", None)
        return positions - (padding + 1 if padding is not None else 0)

    @property
    def lower_case(self) -> bool:
        """Whether the model's tokenizer lower-cases."""
        return self.tokens.lower_case

    @property
    def embeddings(self) -> Tensor:
        """The input embeddings of the whole vocabulary, detached. *Shape:* (vocabulary, dim)"""
        return self._embedding.weight.detach()

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that differ between models whose vectors cannot be mixed.

        They depend on the weights alone: names of parameters and settings change with the version of
        transformers, and a model must keep its fingerprint on another machine.
        """
        samples = set()
        for parameter in self.model.parameters():
            sample = parameter if parameter is self._embedding.weight else parameter.flatten()[:64]
            numbers = sample.detach().float().cpu().numpy().tobytes()
            samples.add(hashlib.sha256(str(tuple(parameter.shape)).encode() + numbers).hexdigest())
        kind = f"{self.model.config.model_type} {self.layers}"
        return hashlib.sha256("\n".join([kind, *sorted(samples)]).encode()).hexdigest()[:16]

    def pieces(self, word: str) -> list[int]:
        """The ids of a word's pieces in running text."""
        return self.tokens.pieces(word)

    @property
    def whole_words(self) -> dict[str, int]:
        """Vocabulary entries that are words by themselves, with their ids."""
        return self.tokens.whole_words

    def embed(self, ids: Tensor, slots: Tensor | None = None, vectors: Tensor | None = None) -> Tensor:
        """Input vectors of token ids, with free vectors at some positions. Gradients flow to ``vectors``.

        :param ids: *Shape:* (batch, length)
        :param slots: the position of each row's free vector. *Shape:* (batch,)
        :param vectors: *Shape:* (batch, dim)
        :return: *Shape:* (batch, length, dim)
        """
        embedded = nn.functional.embedding(ids, self._embedding.weight)
        if slots is None or vectors is None:
            return embedded
        places = torch.arange(ids.shape[1], device=ids.device)[None, :, None] == slots[:, None, None]
        return torch.where(places, vectors[:, None, :].to(embedded.dtype), embedded)

    def hidden_states(self, inputs: Tensor) -> tuple[Tensor, ...]:
        """Hidden states of all layers, the embedding output first.

        :param inputs: input vectors, as :meth:`embed` gives them; nothing is padded.
            *Shape:* (batch, length, dim)
        :return: ``layers + 1`` tensors. *Shape:* (batch, length, hidden)
        """
        return tuple(self._base(**_unpadded(inputs), output_hidden_states=True).hidden_states)

    def last_hidden_state(self, inputs: Tensor) -> Tensor:
        """The output of the last layer alone. *Shape:* (batch, length, hidden)"""
        return self._base(**_unpadded(inputs)).last_hidden_state  # type: ignore[no-any-return]

    def logits_at(self, inputs: Tensor, places: Tensor) -> Tensor:
        """Logits over the vocabulary at one position of each row.

        :param inputs: *Shape:* (batch, length, dim)
        :param places: *Shape:* (batch,)
        :return: *Shape:* (batch, vocabulary)
        """
        rows = torch.arange(len(places), device=places.device)
        if self._head is None:
            return self.model(**_unpadded(inputs)).logits[rows, places]  # type: ignore[no-any-return]
        hidden = self.last_hidden_state(inputs)[rows, places]
        for module in self._head:
            hidden = module(hidden)
        return hidden

    def in_batches(
        self, rows: Sequence[InputRow], compute: Callable[[list[int], Tensor], R], tokens: int
    ) -> Iterator[tuple[list[int], R]]:
        """Batches of rows of one length, so that nothing is padded, and what ``compute`` makes of each.

        :param compute: gets the numbers of some rows and their input vectors. *Shape:* (batch, length, dim)
        :param tokens: at most this many per batch.
        """

        @torch.no_grad()
        def computed(batch: list[int]) -> tuple[list[int], R]:
            own = [rows[number] for number in batch]
            ids = torch.from_numpy(np.array([one.ids for one in own], np.int64)).to(self.device)
            slots = torch.tensor([-1 if one.vector is None else one.slot for one in own], device=self.device)
            none = torch.zeros(self.dim)
            vectors = torch.stack([none if one.vector is None else _tensor(one.vector) for one in own])
            return batch, compute(batch, self.embed(ids, slots, vectors.to(self.device)))

        batches = batches_by_length([len(one.ids) for one in rows], tokens)
        return in_threads(computed, batches, self.device.type)

    def fill(self, queries: Sequence[Query], *, top_k: int = 100) -> Answers:
        """The ``top_k`` most probable fillers of each query's blank; none depends on the other queries."""
        if top_k < 1:
            raise InputError(f"top_k must be at least 1, not {top_k}")
        top_k = min(top_k, len(self.embeddings))
        ids = np.zeros((len(queries), top_k), dtype=np.int64)
        log_probs = np.zeros((len(queries), top_k), dtype=np.float32)

        def most_probable(_: list[int], logits: Tensor) -> tuple[Tensor, Tensor]:
            best = torch.topk(logits, top_k, dim=-1)
            return best.indices, best.values - torch.logsumexp(logits, dim=-1, keepdim=True)

        for batch, (best, numbers) in self._answered("Filling blanks", queries, most_probable):
            ids[batch], log_probs[batch] = best.cpu().numpy(), numbers.cpu().numpy()
        return Answers(ids, log_probs, self.tokens)

    def log_likelihood(self, queries: Sequence[Query], ids: Sequence[int]) -> np.ndarray:
        """The natural log-probability of one given token at each query's blank. *Shape:* (queries,)"""
        result = np.zeros(len(queries), dtype=np.float32)

        def given(batch: list[int], logits: Tensor) -> Tensor:
            wanted = torch.tensor([ids[i] for i in batch], device=logits.device)
            return logits.log_softmax(dim=-1).gather(1, wanted[:, None])[:, 0]

        for batch, found in self._answered("Scoring", queries, given):
            result[batch] = found.cpu().numpy()
        return result

    def _answered(
        self, title: str, queries: Sequence[Query], answer: Callable[[list[int], Tensor], R]
    ) -> Iterator[tuple[list[int], R]]:
        """Batches of queries, and what ``answer`` makes of the logits at their blanks, float32 or float64."""
        rows, mask = self._encode(queries), self.tokenizer.mask_token_id

        def compute(batch: list[int], inputs: Tensor) -> R:
            blanks = torch.tensor([list(rows[row].ids).index(mask) for row in batch], device=self.device)
            logits = self.logits_at(inputs, blanks)
            return answer(batch, logits if logits.dtype == torch.float64 else logits.float())

        budget = _TOKENS_ON_CPU if self.device.type == "cpu" else _TOKENS_ON_GPU
        with progress(title, total=len(queries), unit="queries") as bar:
            for batch, found in self.in_batches(rows, compute, budget):
                yield batch, found
                bar.advance(len(batch))

    def _encode(self, queries: Sequence[Query]) -> list[InputRow]:
        if not queries:
            return []
        rows, slash = [], self.tokens.behind_a_word("/")
        encoded = self.tokens.encode_blanks([q.pattern for q in queries], [q.word for q in queries])
        for query, (ids, start, end) in zip(queries, encoded, strict=True):
            slot = 0
            if query.vector is not None:
                if not query.word:
                    raise InputError(f"a vector needs a <W> to stand for; {query.pattern!r} has none")
                if tuple(query.vector.shape) != (self.dim,):
                    shape = (
                        f"shape {tuple(query.vector.shape)}, but {self.name} takes vectors of size {self.dim}"
                    )
                    raise InputError(f"the vector for {query.word!r} has {shape}")
                ids, slot = with_slot(ids, start, end, slash if query.slash else None)
            if len(ids) > self.max_length:
                most = f"{self.name} takes at most {self.max_length}"
                raise InputError(f"{query.word!r} in {query.pattern!r} has {len(ids)} tokens; {most}")
            rows.append(InputRow(ids, slot, query.vector))
        return rows


def _unpickled(precision: str, fingerprint: str, name: str, *about: Any) -> LanguageModel:
    torch.set_float32_matmul_precision(precision)
    lm = _loaded(name, *about)
    if lm.fingerprint != fingerprint:
        raise InputError(f"{name} was changed in memory, where other processes cannot see it; save it first")
    return lm


@lru_cache(maxsize=1)  # a process does many parts of the work with one model
def _loaded(name: str, device: str, dtype: torch.dtype, kind: Kind) -> LanguageModel:
    lm = LanguageModel.from_pretrained(name, device=device, kind=kind)
    lm.model.to(dtype)
    return lm


def _unpadded(inputs: Tensor) -> dict[str, Tensor]:
    mask = torch.ones(inputs.shape[:2], dtype=torch.long, device=inputs.device)
    return {"inputs_embeds": inputs, "attention_mask": mask}


def _tensor(vector: np.ndarray | Tensor) -> Tensor:
    # torch warns of vectors that are read-only, as those that Ray sends, hence the copy.
    return (torch.tensor(vector) if isinstance(vector, np.ndarray) else vector.detach()).float().cpu()
