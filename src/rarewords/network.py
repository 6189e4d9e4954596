"""The network of a language model: the one file that knows what architectures differ in.

Through ``inputs_embeds`` a word may be its subwords or a free embedding.
"""

import copy
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from rarewords._internal.engine import batches_by_length, in_threads
from rarewords.arithmetic import reading_type
from rarewords.queries import InputRow

R = TypeVar("R")
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

# Not cuDNN's: it takes some 50 ms to plan each new shape, and batches of one length have many shapes.
_ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


class Network:
    """A model of Transformers, whatever its architecture, in evaluation mode and without gradients."""

    def __init__(self, model: Any) -> None:
        self.model = model.eval()
        for parameter in self.model.parameters():
            parameter.requires_grad_(False)

    @property
    def embeddings(self) -> Tensor:
        """The input embeddings of the whole vocabulary, detached. *Shape:* (vocabulary, dim)"""
        return self.model.get_input_embeddings().weight.detach()  # type: ignore[no-any-return]

    @cached_property
    def _in_bfloat16(self) -> "Network":
        """The same with the weights of its linear layers in bfloat16, which autocast would convert at every call."""
        own = {id(one): one for one in self.model.parameters()}  # all others are shared
        for module in self.model.modules():
            if isinstance(module, nn.Linear):
                for weight in module.parameters(recurse=False):
                    own[id(weight)] = nn.Parameter(weight.bfloat16(), requires_grad=False)
        return Network(copy.deepcopy(self.model, own))

    @property
    def device(self) -> torch.device:
        """The device the model computes on."""
        return self.embeddings.device

    @property
    def dtype(self) -> torch.dtype:
        """The number type it computes in."""
        return self.embeddings.dtype

    @property
    def dim(self) -> int:
        """The size of an input embedding; in some architectures less than a hidden state's."""
        return self.embeddings.shape[1]

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
        table = getattr(getattr(self.model.base_model, "embeddings", None), "position_embeddings", None)
        padding = getattr(table, "padding_idx", None)
        return positions - (padding + 1 if padding is not None else 0)

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that differ between models whose embeddings cannot be mixed.

        They depend on the weights alone: names of parameters and settings change with the version of
        transformers, and a model must keep its fingerprint on another machine.
        """
        samples, embeddings = set(), self.model.get_input_embeddings().weight
        for name, parameter in self.model.named_parameters():
            if name.startswith("pooler."):  # of no use here, and random if the model was saved without one
                continue
            sample = parameter if parameter is embeddings else parameter.flatten()[:64]
            numbers = sample.detach().float().cpu().numpy().tobytes()
            samples.add(hashlib.sha256(str(tuple(parameter.shape)).encode() + numbers).hexdigest())
        kind = f"{self.model.config.model_type} {self.layers}"
        return hashlib.sha256("\n".join([kind, *sorted(samples)]).encode()).hexdigest()[:16]

    def embed(self, ids: Tensor, slots: Tensor | None = None, embeddings: Tensor | None = None) -> Tensor:
        """Input embeddings of token ids, with free embeddings, which get gradients, at some positions.

        :param ids: *Shape:* (batch, length)
        :param slots: the position of each row's free embedding. *Shape:* (batch,)
        :param embeddings: *Shape:* (batch, dim)
        :return: *Shape:* (batch, length, dim)
        """
        embedded = nn.functional.embedding(ids, self.embeddings)
        if slots is None or embeddings is None:
            return embedded
        places = torch.arange(ids.shape[1], device=ids.device)[None, :, None] == slots[:, None, None]
        return torch.where(places, embeddings[:, None, :].to(embedded.dtype), embedded)

    def hidden_states(self, inputs: Tensor) -> tuple[Tensor, ...]:
        """Hidden states of all layers, the embedding output first.

        :param inputs: as :meth:`embed` gives them; nothing is padded. *Shape:* (batch, length, dim)
        :return: ``layers + 1`` tensors. *Shape:* (batch, length, hidden)
        """
        return tuple(self.model.base_model(**_unpadded(inputs), output_hidden_states=True).hidden_states)

    def last_hidden_state(self, inputs: Tensor) -> Tensor:
        """The output of the last layer alone. *Shape:* (batch, length, hidden)"""
        return self.model.base_model(**_unpadded(inputs)).last_hidden_state  # type: ignore[no-any-return]

    def logits_at(self, inputs: Tensor, places: Tensor, *, quick: bool = False) -> Tensor:
        """Logits over the vocabulary at one position of each row, or at several.

        :param inputs: *Shape:* (batch, length, dim)
        :param places: *Shape:* (batch,) or (batch, places)
        :param quick: compute in bfloat16 if that is faster here; see :func:`reading_type`.
        :return: *Shape:* (batch, vocabulary) or (batch, places, vocabulary)
        """
        if quick and reading_type(self.device) == torch.bfloat16:
            with torch.autocast(self.device.type, torch.bfloat16):
                return self._in_bfloat16.logits_at(inputs, places)
        rows = torch.arange(len(places), device=places.device)
        rows = rows if places.dim() == 1 else rows[:, None]
        modules = next((names for names in _HEADS if all(hasattr(self.model, name) for name in names)), None)
        if modules is None:
            return self.model(**_unpadded(inputs)).logits[rows, places]  # type: ignore[no-any-return]
        hidden = self.last_hidden_state(inputs)[rows, places]
        for name in modules:
            hidden = getattr(self.model, name)(hidden)
        return hidden

    def in_batches(
        self, rows: Sequence[InputRow], compute: Callable[[list[int], Tensor], R], tokens: int
    ) -> Iterator[tuple[list[int], R]]:
        """Batches of rows of one length, so that nothing is padded, and what ``compute`` makes of each.

        :param compute: gets the numbers of some rows and their inputs. *Shape:* (batch, length, dim)
        :param tokens: at most this many per batch.
        """

        @torch.no_grad()
        def computed(batch: list[int]) -> tuple[list[int], R]:
            own = [rows[number] for number in batch]
            ids = torch.from_numpy(np.array([one.ids for one in own], np.int64)).to(self.device)
            inputs = self.embed(ids)
            if free := [at for at, one in enumerate(own) if one.embedding is not None]:
                slots = torch.tensor([own[at].slot for at in free], device=self.device)
                embeddings = [  # copied, because torch warns of arrays that are read-only
                    torch.asarray(own[at].embedding, dtype=torch.float32, device="cpu", copy=True, requires_grad=False)
                    for at in free
                ]
                inputs[free, slots] = torch.stack(embeddings).to(inputs)
            with sdpa_kernel(_ATTENTION) if self.device.type == "cuda" else nullcontext():
                return batch, compute(batch, inputs)

        batches = batches_by_length([len(one.ids) for one in rows], tokens)
        return in_threads(computed, batches, self.device.type)


def _unpadded(inputs: Tensor) -> dict[str, Tensor]:
    mask = torch.ones(inputs.shape[:2], dtype=torch.long, device=inputs.device)
    return {"inputs_embeds": inputs, "attention_mask": mask}
