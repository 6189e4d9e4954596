"""How good vectors are while a mimic model is trained: MRR on WNLaMPro dev."""

from __future__ import annotations

from typing import Any

from rarewords.corpus.store import Store
from rarewords.lm import LanguageModel
from rarewords.mimic.mimicking import AttentiveMimicking, PreparedContexts
from rarewords.mimic.train import EpochReport
from rarewords.ota.run import approximate
from rarewords.probe.dataset import BANDS, Dataset
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.probe.result import ProbeResult
from rarewords.progress import message
from rarewords.vectors import WordVectors


class DevMeasure:
    """Measures a model after some of its epochs, beside the pieces.

    :param every: after every so many epochs.
    :param dataset: WNLaMPro as it is bundled by default; only its dev part is asked.
    """

    def __init__(
        self, lm: LanguageModel, store: Store, every: int = 1, dataset: Dataset | None = None
    ) -> None:
        self._lm, self._store, self._every = lm, store, every
        self._dataset = dataset or Dataset.load()
        words = [entry.word.text for entry in self._dataset if entry.subset == "dev"]
        self._words = list(dict.fromkeys(words))
        self._contexts = PreparedContexts(store, self._words)
        self.history: list[dict[str, Any]] = []

    def approximations(self, ready: WordVectors | None = None) -> WordVectors:
        """One-token approximations of all dev keywords of several pieces, for models that use them."""
        missing = [word for word in self._words if ready is None or word not in ready]
        made = approximate(self._lm, missing, keep_single=True).vectors
        return made if ready is None else ready.merge(made)

    def __call__(self, report: EpochReport, mimic: AttentiveMimicking) -> None:
        """Measure, if it is this epoch's turn."""
        if report.epoch % self._every:
            return
        if not self.history:
            self._keep(0, "pieces", evaluate(self._lm, self._dataset, EvalSettings(subset="dev")))
        vectors = mimic.infer_words(self._words, self._store, prepared=self._contexts).vectors
        settings = EvalSettings(method="vectors", subset="dev")
        self._keep(
            report.epoch,
            f"epoch {report.epoch}",
            evaluate(self._lm, self._dataset, settings, vectors=vectors),
        )

    def _keep(self, epoch: int, label: str, result: ProbeResult) -> None:
        cells = {band: result.cell("all", band) for band in BANDS}
        found = {band: round(float(cell.mrr.mean), 4) for band, cell in cells.items() if cell is not None}
        self.history.append({"epoch": epoch, "mrr": round(result.mrr, 4), **found})
        by_band = ", ".join(f"{band} {value:.3f}" for band, value in found.items())
        message(f"WNLaMPro dev, {label}: MRR {result.mrr:.3f} ({by_band})")
