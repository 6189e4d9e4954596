"""Training attentive mimicking, against a plain implementation: time per 1,000 examples.

    python benchmarks/bench_mimic.py [--corpus CORPUS] [--min-count 20] [--seconds 10]

The plain implementation looks up every word of every context in a dict, fills a padded array of float
embeddings (batch, contexts, words, dim), sends it to the device, and compares all pairs of contexts there.
Both train the same model with the same settings on the same words.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from timing import Run, options, report, sample_text

from rarewords import AttentiveMimicking, Corpus, LanguageModel
from rarewords.corpus.corpus import Context
from rarewords.corpus.text import words_of
from rarewords.learner.spelling import ngrams
from rarewords.mimic.settings import preset


class PlainTrainer:
    """Padded batches of float embeddings, built word by word in Python."""

    def __init__(self, words, contexts, embeddings, targets, table, settings, device):  # type: ignore[no-untyped-def]
        self.words, self.contexts, self.embeddings, self.targets = words, contexts, embeddings, targets
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
        widest = max(1, max(len(contexts) for contexts in drawn))
        longest = max((len(context) for contexts in drawn for context in contexts), default=1)
        values = np.zeros((len(batch), widest, longest, self.dim), dtype=np.float32)
        present = np.zeros((len(batch), widest, longest), dtype=np.float32)
        for i, contexts in enumerate(drawn):
            for j, context in enumerate(contexts):
                for k, word in enumerate(context):
                    if word in self.embeddings and word != self.words[batch[i]]:
                        values[i, j, k] = self.embeddings[word]
                        present[i, j, k] = 1
        spelled = [[self.table.get(gram, 0) for gram in ngrams(self.words[row])] for row in batch]
        numbers = np.zeros((len(batch), max(map(len, spelled))), dtype=np.int64)
        spelled_out = np.zeros((*numbers.shape, 1), dtype=np.float32)
        for i, grams in enumerate(spelled):
            numbers[i, : len(grams)] = grams
            spelled_out[i, : len(grams)] = 1
        arrays = (torch.from_numpy(x).to(self.device) for x in (values, present, numbers, spelled_out))
        loss = self._loss(*arrays, batch)
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
        embeddings = alpha * self.a(context) + (1 - alpha) * form
        return torch.nn.functional.mse_loss(embeddings, self.targets[torch.from_numpy(batch)])


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the plain one trains")
    parser.add_argument("--min-count", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text, path = sample_text(Path(folder) / "text.txt", 1.15), Path(folder) / "corpus"
        run(Corpus.open(asked.corpus) if asked.corpus else Corpus.build(text, path), asked)


def run(corpus: Corpus, asked: argparse.Namespace) -> None:
    lm = LanguageModel.from_pretrained(asked.model)
    settings = preset("am+context", min_count=asked.min_count, epochs=asked.epochs)
    mimic = AttentiveMimicking.fit(lm, corpus, None, settings)
    fast = statistics.median(epoch.examples_per_second for epoch in mimic.history)
    words = [word for word in corpus.counts(asked.min_count)[0] if word in lm.whole_words]
    contexts = [[_words_around(c, corpus.settings.window) for c in corpus.contexts(word)] for word in words]
    matrix = lm.embeddings.float()
    embeddings = {word: matrix[token].cpu().numpy() for word, token in lm.whole_words.items()}
    targets = matrix[[lm.whole_words[word] for word in words]]
    plain = PlainTrainer(words, contexts, embeddings, targets, mimic.table, settings, lm.device)
    runs = {"rarewords": Run(1000 / fast), "plain": _per_thousand(plain, asked.seconds)}
    report(asked.out, "training on 1000 examples", runs, words=len(words), contexts=sum(map(len, contexts)))


def _words_around(context: Context, window: int) -> list[str]:
    left, right = context.sentence[: context.start], context.sentence[context.end :]
    return words_of(left)[-window:] + words_of(right)[:window]


def _per_thousand(plain: PlainTrainer, seconds: float) -> Run:
    rng, done = np.random.default_rng(0), 0
    plain.step(rng)
    started, used = time.perf_counter(), time.process_time()
    while time.perf_counter() - started < seconds:
        done += plain.step(rng)
    wall, used = time.perf_counter() - started, time.process_time() - used
    return Run(1000 * wall / done, 1000 * used / done)


if __name__ == "__main__":
    main()
