"""A model and its tokenizer: they answer queries and take new words; :mod:`.network` computes."""

import copy
import math
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from rarewords._internal.progress import progress
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.injection.card import model_card, without_forms
from rarewords.injection.inject import Injection, inject, save_folder
from rarewords.injection.taught import taught_tokens
from rarewords.model_folder import pooling, read_report
from rarewords.models import DEFAULT_MODEL, KIND_TITLES, Kind, choose_device, load_pretrained, model_folder, shown_name
from rarewords.network import Network
from rarewords.queries import Answers, InputRow, Query
from rarewords.tokens import BLANK, Placement, Tokens, with_slot

_TOKENS_ON_CPU, _TOKENS_ON_GPU = 2048, 65536  # per batch of queries


class LanguageModel(Network):
    """A Hugging Face model and its tokenizer: a masked LM, an encoder or a causal LM.

    >>> lm = LanguageModel.from_pretrained()  # the bundled masked LM
    >>> lm.fill_mask("a lime is a kind of [MASK].", top_k=2)  # doctest: +SKIP
    [{'score': 0.31, 'token': 5909, 'token_str': 'fruit', 'sequence': 'a lime is a kind of fruit.'}, ...]

    :param name: ``default``, a folder or a hub name that the same model can be loaded from.
    :param folder: where its files are, if it was loaded from a folder.
    :ivar report: what ``teach`` did to it, as ``teaching.json`` has it.
    """

    def __init__(self, model: Any, tokenizer: Any, *, name: str = "model", folder: Path | None = None) -> None:
        super().__init__(model)
        self.tokens, self.tokenizer = Tokens(tokenizer), tokenizer
        self.name, self.folder = name, folder
        self.report: dict[str, Any] = {}

    @classmethod
    def from_pretrained(cls, name: str | Path = DEFAULT_MODEL, *, device: str = "auto") -> Self:
        """Load the bundled model (``default``), a local folder or a hub name.

        :param device: ``auto`` (the best there is), ``cuda``, ``cuda:1``, ``mps`` or ``cpu``.
        """
        chosen = choose_device(device)
        (model, tokenizer), folder = load_pretrained(name), model_folder(name)
        model = model.to(chosen, torch.float32)
        for parameter in model.parameters():
            # Mapped from a file, numbers lie where its header ends, and how they are aligned changes rounding.
            parameter.data = parameter.data.clone()
        lm = cls(model, tokenizer, name=str(name), folder=folder)
        lm.report = read_report(folder)
        return lm

    def copy(self) -> Self:
        """The same model a second time in memory, to be changed."""
        again = type(self)(*copy.deepcopy((self.model, self.tokenizer)), name=self.name, folder=self.folder)
        again.report = dict(self.report)
        again.tokens = self.tokens.of_copy(again.tokenizer)
        return again

    def save_pretrained(self, folder: str | Path) -> None:
        """Write an ordinary Hugging Face folder with a model card that lists the added words."""
        words = without_forms(taught_tokens(self.model, self.tokenizer), self.tokenizer, self.report)
        card = model_card(shown_name(self.name), words, kind=self.kind, folder=self.folder)
        save_folder(self.model, self.tokenizer, folder, base=self.folder, card=card, report=self.report)

    @cached_property
    def kind(self) -> Kind:
        """``masked``, ``encoder`` or ``causal``."""
        if self.model.can_generate():
            return "causal"
        return "encoder" if self.model.get_output_embeddings() is None else "masked"

    @cached_property
    def pooling(self) -> str:
        """How an encoder makes one embedding of a text: ``cls``, ``lasttoken`` or ``mean``."""
        return "mean" if self.folder is None else pooling(self.folder)

    def require(self, kind: Kind) -> None:
        """Refuse a model of another kind."""
        if self.kind != kind:
            raise InputError(f"{self.name} is {KIND_TITLES[self.kind]}, not {KIND_TITLES[kind]}", code="model-kind")

    @property
    def lower_case(self) -> bool:
        """Whether the model's tokenizer lower-cases."""
        return self.tokens.lower_case

    def subwords(self, word: str) -> list[int]:
        """The ids of a word's subwords in running text."""
        return self.tokens.subwords(word)

    @property
    def whole_words(self) -> dict[str, int]:
        """Vocabulary entries that are words by themselves, with their ids."""
        return self.tokens.whole_words

    def fill_mask(self, text: str, *, top_k: int = 5) -> list[dict[str, Any]]:
        """The most probable words for the mask in a text, like the ``fill-mask`` pipeline of Transformers.

        :param text: with one mask token; ``[MASK]`` works for every model.
        """
        pattern = text.replace(self.tokens.mask_token, "[MASK]").replace("_", " ").replace("[MASK]", "_")
        answers = self.fill([Query(pattern)], top_k=top_k)
        columns = answers.words(0), answers.ids[0].tolist(), map(math.exp, answers.log_probs[0].tolist())
        return [
            {"score": score, "token": token, "token_str": word, "sequence": word.join(BLANK.split(pattern))}
            for word, token, score in zip(*columns, strict=True)
        ]

    def add_word(
        self, word: str, embedding: np.ndarray, *, placement: Placement = "replace", allow_prediction: bool = False
    ) -> int:
        """Add a word with an embedding to the model and its tokenizer; returns its token id.

        :param embedding: *Shape:* (dim,)
        :param placement: ``replace`` makes the word one token; ``append`` puts the token after its subwords.
        """
        rows = WordEmbeddings([word], np.asarray(getattr(embedding, "embedding", embedding))[None])
        return self.add_words(rows, placement=placement, allow_prediction=allow_prediction).ids[word]

    def add_words(
        self,
        embeddings: WordEmbeddings,
        *,
        placement: Placement = "replace",
        allow_prediction: bool = False,
        whole: Collection[str] | None = None,
    ) -> Injection:
        """:meth:`add_word` for many words at once; words that have a token already are skipped.

        :param whole: words that must not become the start of longer words; see :func:`.inject`.
        """
        how: dict[str, Any] = {"placement": placement, "allow_prediction": allow_prediction, "whole": whole}
        done = inject(self.model, self.tokenizer, embeddings, **how)
        self.tokens = Tokens(self.tokenizer)  # without what was known of the old vocabulary
        for name in ("fingerprint", "_in_bfloat16"):
            self.__dict__.pop(name, None)
        return done

    def fill(self, queries: Sequence[Query], *, top_k: int = 100, quick: bool = False) -> Answers:
        """The ``top_k`` most probable fillers of each query's blank; none depends on the other queries.

        :param quick: compute in bfloat16 if that is faster here.
        """
        if top_k < 1:
            raise InputError(f"top_k must be at least 1, not {top_k}", code="settings")
        self.require("masked")
        rows, mask = self.input_rows(queries), self.tokenizer.mask_token_id
        top_k = min(top_k, len(self.embeddings))
        ids, log_probs = np.zeros((len(queries), top_k), np.int64), np.zeros((len(queries), top_k), np.float32)

        def most_probable(batch: list[int], inputs: Tensor) -> tuple[Tensor, Tensor]:
            blanks = torch.tensor([list(rows[row].ids).index(mask) for row in batch], device=self.device)
            logits = self.logits_at(inputs, blanks, quick=quick)
            logits = logits if logits.dtype == torch.float64 else logits.float()
            best = torch.topk(logits, top_k, dim=-1)
            return best.indices, best.values - torch.logsumexp(logits, dim=-1, keepdim=True)

        budget = _TOKENS_ON_CPU if self.device.type == "cpu" else _TOKENS_ON_GPU
        with progress("Filling blanks", total=len(queries), unit="queries") as bar:
            for batch, (best, numbers) in self.in_batches(rows, most_probable, budget):
                ids[batch], log_probs[batch] = best.cpu().numpy(), numbers.cpu().numpy()
                bar.advance(len(batch))
        return Answers(ids, log_probs, self.tokens)

    def input_rows(self, queries: Sequence[Query]) -> list[InputRow]:
        """The token ids of each query, with its embedding in place of the word or behind it."""
        rows, slash = [], self.tokens.behind_a_word("/")
        encoded = self.tokens.encode_blanks([one.pattern for one in queries], [one.word for one in queries])
        for query, (ids, start, end) in zip(queries, encoded, strict=True):
            slot = 0
            if query.embedding is not None:
                if not query.word:
                    problem = f"an embedding needs a <W> to stand for; {query.pattern!r} has none"
                    raise InputError(problem, code="pattern")
                if tuple(query.embedding.shape) != (self.dim,):
                    shape = f"shape {tuple(query.embedding.shape)}, but {self.name} has embeddings of size {self.dim}"
                    raise InputError(f"the embedding for {query.word!r} has {shape}", code="model-mismatch")
                ids, slot = with_slot(ids, start, end, slash if query.placement == "append" else None)
            if len(ids) > self.max_length:
                most = f"{self.name} takes at most {self.max_length}"
                raise InputError(f"{query.word!r} in {query.pattern!r} has {len(ids)} tokens; {most}", code="pattern")
            rows.append(InputRow(ids, slot, query.embedding))
        return rows
