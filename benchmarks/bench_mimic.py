"""Training attentive mimicking: examples per second against a plain implementation, in the same run.

Run: python benchmarks/bench_mimic.py [--corpus STORE] [--model default] [--seconds 20] [--min-count 20]

The plain implementation looks up every word of every context in a dict, fills a padded array of float
vectors (batch, contexts, words, dim), sends it to the device, and compares all pairs of contexts there. Both
train the same model with the same settings on the same words. The claim: at least 10 times the examples per
second.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from rarewords import build_store
from rarewords.corpus.store import Context, Store
from rarewords.corpus.text import words_of
from rarewords.lm import LanguageModel
from rarewords.mimic.attentive import AttentiveMimicking
from rarewords.mimic.ngrams import ngrams
from rarewords.mimic.settings import preset

SAMPLE = Path(__file__).parent.parent / "tests" / "data" / "wikipedia.txt.gz"


class PlainTrainer:
    """Padded batches of float vectors, built word by word in Python."""

    def __init__(self, words, contexts, vectors, targets, table, settings, device):  # type: ignore[no-untyped-def]
        self.words, self.contexts, self.vectors, self.targets = words, contexts, vectors, targets
        self.table = {gram: number for number, gram in enumerate(table.known, 1)}
        self.settings, self.device, self.dim = settings, device, targets.shape[1]
        self.grams = torch.nn.Embedding(len(table) + 1, self.dim).to(device)
        self.a, self.m = (torch.nn.Linear(self.dim, self.dim, bias=False).to(device) for _ in range(2))
        self.gate = torch.nn.Linear(2 * self.dim, 1).to(device)
        modules = (self.grams, self.a, self.m, self.gate)
        self.optimizer = torch.optim.Adam([p for module in modules for p in module.parameters()], lr=0.01)

    def step(self, rng: np.random.Generator) -> int:
        batch = rng.choice(len(self.words), self.settings.batch_size)
        drawn = []
        for row in batch:
            number = int(rng.integers(self.settings.contexts_min, self.settings.contexts_max + 1))
            available = self.contexts[row]
            drawn.append([available[i] for i in rng.permutation(len(available))[:number]])
        widest = max(1, max(len(one) for one in drawn))
        longest = max((len(context) for one in drawn for context in one), default=1)
        values = np.zeros((len(batch), widest, longest, self.dim), dtype=np.float32)
        present = np.zeros((len(batch), widest, longest), dtype=np.float32)
        for i, one in enumerate(drawn):
            for j, context in enumerate(one):
                for k, word in enumerate(context):
                    if word in self.vectors and word != self.words[batch[i]]:
                        values[i, j, k] = self.vectors[word]
                        present[i, j, k] = 1
        spelled = [[self.table.get(gram, 0) for gram in ngrams(self.words[row])] for row in batch]
        most = max(len(one) for one in spelled)
        numbers = np.zeros((len(batch), most), dtype=np.int64)
        spelled_out = np.zeros((len(batch), most, 1), dtype=np.float32)
        for i, one in enumerate(spelled):
            numbers[i, : len(one)] = one
            spelled_out[i, : len(one)] = 1
        loss = self._loss(
            *(torch.from_numpy(x).to(self.device) for x in (values, present, numbers, spelled_out)), batch
        )
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return len(batch)

    def _loss(self, values, present, numbers, spelled_out, batch):  # type: ignore[no-untyped-def]
        form = (self.grams(numbers) * spelled_out).sum(1) / spelled_out.sum(1)
        readings = values.sum(2) / present.sum(2, keepdim=True).clamp_min(1)
        compared = self.m(readings)
        similarity = compared @ compared.transpose(1, 2) / self.dim**0.5
        weights = similarity.sum(2)
        weights = weights / weights.sum(1, keepdim=True).clamp_min(1e-9)
        context = (weights[:, :, None] * readings).sum(1)
        alpha = torch.sigmoid(self.gate(torch.cat([form, context], -1)))
        vectors = alpha * self.a(context) + (1 - alpha) * form
        return torch.nn.functional.mse_loss(vectors, self.targets[torch.from_numpy(batch)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--min-count", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.corpus:
            run(Store.open(arguments.corpus), arguments)
        else:
            run(build_store([str(SAMPLE)], Path(folder) / "store"), arguments)


def run(store: Store, arguments: argparse.Namespace) -> None:
    lm = LanguageModel.from_pretrained(arguments.model)
    settings = preset("am+context", min_count=arguments.min_count, epochs=arguments.epochs)
    mimic = AttentiveMimicking.fit(lm, store, None, settings)
    fast = float(np.median([report.examples_per_second for report in mimic.history]))
    words = [word for word in store.counts(arguments.min_count)[0] if word in lm.whole_words]
    contexts = [[_words_around(c, store.settings.window) for c in store.contexts(word)] for word in words]
    matrix = lm.embeddings.float()
    vectors = {word: matrix[token].cpu().numpy() for word, token in lm.whole_words.items()}
    targets = matrix[[lm.whole_words[word] for word in words]]
    plain = PlainTrainer(words, contexts, vectors, targets, mimic.table, settings, lm.device)
    slow = _rate(plain, arguments.seconds)
    where = f"{arguments.model}, {lm.device}, {torch.get_num_threads()} threads, {len(mimic.table)} n-grams"
    print(f"{len(words)} words, {sum(map(len, contexts))} contexts, {where}")
    print(f"plain: {slow:,.0f} examples/s; ours: {fast:,.0f} examples/s; ratio {fast / slow:.1f}")


def _words_around(context: Context, window: int) -> list[str]:
    left, right = context.sentence[: context.start], context.sentence[context.end :]
    return words_of(left)[-window:] + words_of(right)[:window]


def _rate(plain: PlainTrainer, seconds: float) -> float:
    rng, done = np.random.default_rng(0), 0
    plain.step(rng)
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        done += plain.step(rng)
    return done / (time.perf_counter() - started)


if __name__ == "__main__":
    main()
