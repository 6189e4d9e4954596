"""Training attentive mimicking: examples per second against a plain implementation, in the same run.

Run: python benchmarks/bench_mimic.py [--corpus STORE] [--model default] [--seconds 20] [--min-count 20]

The plain implementation does what a first program does: it looks every word of every context up in a dict,
fills a padded array of float vectors (batch, contexts, words, dim), sends it to the device, and compares all
pairs of contexts there. Both train the same model with the same settings on the same words; each runs for
the given time. The claim it backs: at least 10 times the examples per second.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from rarewords import LanguageModel
from rarewords.corpus.store import Store
from rarewords.mimic.batches import Reader, context_table
from rarewords.mimic.mimicking import _context_embeddings, _known
from rarewords.mimic.model import FormContextModel
from rarewords.mimic.ngrams import NgramTable, ngrams
from rarewords.mimic.settings import preset
from rarewords.mimic.train import EpochPlan, TrainingWords, _optimizers

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
    parser.add_argument(
        "--words", type=int, default=2000, help="training words, so that the plain one fits in memory"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(Store.open(arguments.corpus or _sample_store(Path(folder))), arguments)


def run(store: Store, arguments: argparse.Namespace) -> None:
    lm = LanguageModel.from_pretrained(arguments.model)
    settings = preset("am+context", min_count=arguments.min_count)
    known, embeddings = _context_embeddings(lm, None)
    row_of = {word: row for row, word in enumerate(known)}
    words, counts = store.counts(arguments.min_count)
    chosen = [place for place, word in enumerate(words) if word in row_of]
    chosen = np.random.default_rng(0).permutation(chosen)[: arguments.words].tolist()
    words, counts = [words[place] for place in chosen], counts[chosen]
    embeddings = embeddings.to(lm.device)
    targets = embeddings[[row_of[word] for word in words]]
    table = NgramTable.from_words(words)
    rows = context_table(store, words).with_rows(_known(store, known, settings))
    data = TrainingWords(words, counts, targets, table.bags(words), Reader(rows, embeddings))

    model = FormContextModel(settings, dim=lm.dim, ngrams=len(table)).to(lm.device)
    optimizers = _optimizers(model, settings)
    plan, step = EpochPlan(data, settings, np.arange(len(words)), 0), 0

    def ours() -> int:
        nonlocal plan, step
        if step == len(plan):
            plan, step = EpochPlan(data, settings, np.arange(len(words)), step), 0
        batch, expected = plan.batch(step)
        loss = torch.nn.functional.mse_loss(model(batch).vectors, expected)
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        step += 1
        return len(expected)

    texts = [[[*c.left, *c.right] for c in store.contexts(word)] for word in words]
    vectors = {word: embeddings[row].cpu().numpy() for word, row in row_of.items()}
    plain = PlainTrainer(words, texts, vectors, targets, table, settings, lm.device)
    rng = np.random.default_rng(0)
    where = f"{arguments.model}, {lm.device}, {torch.get_num_threads()} threads"
    print(f"{len(words)} words, {len(rows)} contexts, {where}")
    fast = _rate(ours, arguments.seconds, lm.device)
    slow = _rate(lambda: plain.step(rng), arguments.seconds, lm.device)
    print(f"plain: {slow:,.0f} examples/s; ours: {fast:,.0f} examples/s; ratio {fast / slow:.1f}")


def _rate(step, seconds: float, device: torch.device) -> float:  # type: ignore[no-untyped-def]
    for _ in range(3):
        step()
    done, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        done += step()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return done / (time.perf_counter() - started)


def _sample_store(folder: Path) -> Path:
    from rarewords.cli.app import app

    (folder / "text.txt").write_bytes(gzip.decompress(SAMPLE.read_bytes()))
    arguments = ["-q", "corpus", "build", "--text", str(folder / "text.txt"), "--out", str(folder / "store")]
    app(arguments, standalone_mode=False)
    return folder / "store"


if __name__ == "__main__":
    main()
