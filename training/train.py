"""Train the bundled model on one GPU: a small masked LM with a larger one as its teacher.

    python training/train.py OUT --tokens TOKENS --student gte-small --teacher mpnet-mlm --seconds 1000

The student is a BERT encoder started from ``STUDENT.config.json`` and ``STUDENT.safetensors``, with a new
masked-LM head tied to its embeddings. The teacher is a folder with packed weights. Both see the same tokens
with the same masks;

    loss = (cross entropy with the true tokens + cross entropy with the teacher's distribution) / 2

Three steps in four take windows of 128 tokens of running text, the fourth single sentences of up to 32
tokens: people ask with short sentences. The learning rate rises for 400 steps and then falls linearly with
the time left, so training ends when it should on any GPU. A packed checkpoint is written every two minutes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from pack import pack, unpack
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM, MPNetConfig, MPNetForMaskedLM

CLS, SEP, MASK, PAD, UNKNOWN, VOCABULARY = 101, 102, 103, 0, 100, 30522
WINDOW, ROW = 128, 32
TOKENS_PER_STEP = 131_072
RATE, HEAD_RATE, WARM_UP_STEPS, LAST_SHARE = 6e-4, 2.0, 400, 0.02
MASKED_SHARE, MASKED_PER_SENTENCE = 0.20, 4
SECONDS_BETWEEN_CHECKPOINTS = 120
DEVICE = "cuda"


class Student:
    """The small model; the trunk is compiled, the head runs at masked places only."""

    def __init__(self, name: str) -> None:
        config = BertConfig.from_json_file(f"{name}.config.json")
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
        self.model = BertForMaskedLM(config)
        weights = {key: value.float() for key, value in load_file(f"{name}.safetensors").items()}
        self.model.bert.load_state_dict(weights)
        self.model.tie_weights()
        self.model.to(DEVICE).train()
        self._trunk = torch.compile(self.model.bert, dynamic=False)

    def logits(self, ids: Tensor, seen: Tensor, places: Tensor) -> Tensor:
        """Logits at some places of each row. *Shape:* (rows * places, vocabulary)"""
        with torch.autocast(DEVICE, torch.bfloat16):
            hidden = self._trunk(input_ids=ids, attention_mask=seen).last_hidden_state
            return self.model.cls(at(hidden, places))


class Teacher:
    """The large model in bfloat16. Its vocabulary is the student's plus four; special tokens differ."""

    def __init__(self, folder: Path) -> None:
        config = MPNetConfig.from_json_file(folder / "config.json")
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
        self.model = MPNetForMaskedLM(config)
        self.model.load_state_dict(unpack(load_file(folder / "weights.int8.safetensors")), strict=False)
        self.model.tie_weights()
        self.model.to(DEVICE, torch.bfloat16).eval().requires_grad_(False)
        self._trunk = torch.compile(self.model.mpnet, dynamic=False)
        self._ids = torch.arange(VOCABULARY, device=DEVICE) + 4
        for own, its in ((CLS, 0), (PAD, 1), (SEP, 2), (UNKNOWN, 3), (MASK, VOCABULARY + 4)):
            self._ids[own] = its

    @torch.no_grad()
    def distribution(self, ids: Tensor, seen: Tensor, places: Tensor) -> Tensor:
        """What it expects at some places of each row. *Shape:* (rows * places, vocabulary)"""
        hidden = self._trunk(input_ids=self._ids[ids], attention_mask=seen).last_hidden_state
        logits = self.model.lm_head(at(hidden, places))[:, 4 : 4 + VOCABULARY]
        return torch.softmax(logits.float(), -1).to(torch.bfloat16)


class Text:
    """Token arrays on the GPU, from which batches are drawn at random."""

    def __init__(self, folder: Path) -> None:
        self.docs = read_tokens(folder, "docs")
        self.sentences = read_tokens(folder, "sentences").view(-1, ROW)
        self.held = read_tokens(folder, "held")

    def windows(self, source: Tensor) -> Tensor:
        """Windows of running text between [CLS] and [SEP]. *Shape:* (rows, WINDOW)"""
        rows = TOKENS_PER_STEP // WINDOW
        start = torch.randint(0, len(source) - WINDOW + 2, (rows, 1), device=DEVICE)
        body = source[start + torch.arange(WINDOW - 2, device=DEVICE)].long()
        ends = torch.full((rows, 1), CLS, device=DEVICE), torch.full((rows, 1), SEP, device=DEVICE)
        return torch.cat([ends[0], body, ends[1]], 1)

    def rows(self) -> Tensor:
        """Single sentences, padded. *Shape:* (rows, ROW)"""
        chosen = torch.randint(0, len(self.sentences), (TOKENS_PER_STEP // ROW,), device=DEVICE)
        return self.sentences[chosen].long()


def read_tokens(folder: Path, kind: str) -> Tensor:
    """All arrays of a kind, end to end, on the GPU. *Shape:* (tokens,)"""
    arrays = [np.fromfile(path, "<u2") for path in sorted(folder.glob(f"*.{kind}"))]
    return torch.from_numpy(np.concatenate(arrays).astype(np.int32)).to(DEVICE)


def mask(ids: Tensor, *, always: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Mask some places of each row: the new tokens, the places and the true tokens there (-100 for padding).

    Of the chosen tokens 90 % become the mask, 5 % another token, 5 % stay, unless ``always`` masks them all.
    *Shapes:* (rows, length), (rows, places), (rows, places)
    """
    special = (ids == CLS) | (ids == SEP) | (ids == PAD)
    count = int(ids.shape[1] * MASKED_SHARE) if ids.shape[1] == WINDOW else MASKED_PER_SENTENCE
    places = torch.rand(ids.shape, device=DEVICE).masked_fill(special, 2.0).argsort(dim=1)[:, :count]
    usable, own = ~special.gather(1, places), ids.gather(1, places)
    chance = torch.rand(places.shape, device=DEVICE) * (0.9 if always else 1.0)
    other = torch.randint(1000, 30000, places.shape, device=DEVICE)
    new = torch.where(chance < 0.9, torch.full_like(own, MASK), torch.where(chance < 0.95, other, own))
    return ids.scatter(1, places, torch.where(usable, new, own)), places, torch.where(usable, own, -100)


def at(hidden: Tensor, places: Tensor) -> Tensor:
    """Hidden states at some places of each row. *Shape:* (rows * places, dim)"""
    return hidden.gather(1, places[..., None].expand(-1, -1, hidden.shape[-1])).flatten(0, 1)


def loss_of(student: Student, teacher: Teacher, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The loss of a batch and the share of its masked tokens that the student finds."""
    masked, places, labels = mask(ids)
    seen, labels = (ids != PAD).long(), labels.flatten()
    logits = student.logits(masked, seen, places).float()
    hard = nn.functional.cross_entropy(logits, labels, ignore_index=-100)
    soft = -(teacher.distribution(masked, seen, places) * torch.log_softmax(logits, -1)).sum(-1)
    usable = labels >= 0
    found = ((logits.argmax(-1) == labels).sum() / usable.sum()).detach()
    return (hard + (soft * usable).sum() / usable.sum()) / 2, found


@torch.no_grad()
def held_out(student: Student, text: Text) -> tuple[float, float]:
    """Loss and accuracy at masked places of held-out text."""
    results = []
    for _ in range(16):
        masked, places, labels = mask(text.windows(text.held), always=True)
        logits = student.logits(masked, torch.ones_like(masked), places).float()
        loss = nn.functional.cross_entropy(logits, labels.flatten())
        results.append(torch.stack([loss, (logits.argmax(-1) == labels.flatten()).float().mean()]))
    loss, accuracy = torch.stack(results).mean(0).tolist()
    return loss, accuracy


def optimizer_of(model: BertForMaskedLM) -> torch.optim.Optimizer:
    """AdamW; the new head learns twice as fast, and only matrices of the trunk decay."""
    trunk = list(model.bert.parameters())
    tied = {id(parameter) for parameter in trunk}
    head = [parameter for parameter in model.cls.parameters() if id(parameter) not in tied]
    groups = [
        {"params": [parameter for parameter in trunk if parameter.ndim >= 2], "weight_decay": 0.01, "speed": 1.0},
        {"params": [parameter for parameter in trunk if parameter.ndim < 2], "weight_decay": 0.0, "speed": 1.0},
        {"params": head, "weight_decay": 0.0, "speed": HEAD_RATE},
    ]
    return torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.98), eps=1e-8, fused=True)


def save(model: BertForMaskedLM, path: Path) -> None:
    """Write a packed checkpoint, whole or not at all."""
    state = {name: value for name, value in model.state_dict().items() if "decoder" not in name}
    temporary = path.with_suffix(".part")
    save_file(pack(state), temporary)
    temporary.replace(path)


def train(student: Student, teacher: Teacher, text: Text, out: Path, seconds: float) -> None:
    """Train until the time is over, with a line of figures every hundred steps."""
    optimizer = optimizer_of(student.model)
    totals = torch.zeros(2, device=DEVICE)
    started = saved = time.time()
    step = 0
    while (share := (time.time() - started) / seconds) < 1:
        rate = RATE * min(1.0, step / WARM_UP_STEPS) * max(LAST_SHARE, 1 - share)
        for group in optimizer.param_groups:
            group["lr"] = rate * group["speed"]
        loss, found = loss_of(student, teacher, text.rows() if step % 4 == 3 else text.windows(text.docs))
        loss.backward()
        nn.utils.clip_grad_norm_(student.model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        totals += torch.stack([loss.detach(), found])
        step += 1
        if step % 100 == 0:
            mean_loss, accuracy = (totals / 100).tolist()
            totals.zero_()
            print(
                f"step {step}, {step * TOKENS_PER_STEP / 1e6:.0f} M tokens, loss {mean_loss:.3f}, "
                f"accuracy {accuracy:.3f}, rate {rate:.1e}, {time.time() - started:.0f} s",
                flush=True,
            )
            if time.time() - saved > SECONDS_BETWEEN_CHECKPOINTS:
                save(student.model, out / "checkpoint.safetensors")
                saved = time.time()


def main() -> None:
    """Parse, train, measure, save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--tokens", type=Path, required=True)
    parser.add_argument("--student", required=True)
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    torch.set_float32_matmul_precision("high")
    arguments.out.mkdir(parents=True, exist_ok=True)
    text = Text(arguments.tokens)
    print(f"{len(text.docs) / 1e6:.1f} M tokens, {len(text.sentences) / 1e6:.2f} M sentences", flush=True)
    student, teacher = Student(arguments.student), Teacher(arguments.teacher)
    train(student, teacher, text, arguments.out, arguments.seconds)
    save(student.model, arguments.out / "final.safetensors")
    loss, accuracy = held_out(student, text)
    print(f"held-out text: loss {loss:.3f}, accuracy {accuracy:.3f}", flush=True)


if __name__ == "__main__":
    main()
