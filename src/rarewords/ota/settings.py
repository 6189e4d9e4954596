"""How one-token approximation is done: the choices, and the two presets."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from rarewords.errors import InputError

CONTEXTS = ("random", "static", "masked")
STARTS = ("zero", "mean", "length", "vocabulary", "inverse")
SIDES = ("both", "left", "right")
SOLVERS = ("auto", "adam", "lbfgs")
METHODS = ("ota", "first", "last", "avg")


@dataclass(frozen=True)
class OtaSettings:
    """Everything the vectors depend on, besides the model and the word.

    :param contexts: ``random`` is ``[CLS] a _ b . [SEP]`` with random words a and b, ``static`` is
        ``[CLS] _ . [SEP]``, ``masked`` is ``[CLS] a _ b [MASK] c . [SEP]``.
    :param start: ``zero``; ``mean`` of the pieces; ``length``, their mean weighted by their letters;
        ``vocabulary``, the mean of all whole words; ``inverse``, see :mod:`rarewords.ota.inverse`.
    :param layers: which layers' hidden states are compared, counted from 1; None takes all of them.
        0 is the embedding output.
    :param side: compare the places left of the word, right of it, or both.
    :param solver: ``adam``, ``lbfgs``, or ``auto``. One vector can do exactly what one piece does, so the
        distance of a one-piece word has a minimum of zero in any context, and ``auto`` finds it by ``lbfgs``
        on a few. What one vector cannot do for several pieces differs from context to context; there ``auto``
        starts from the mean of the pieces and averages over new ``masked`` contexts, by Adam with a falling
        rate: what the model answers is decided at the mask, so the vector must do there what the pieces do.
    :param iterations: the most steps of the solver.
    :param contexts_per_step: how many contexts each step looks at.
    :param fresh: draw new contexts every step; otherwise a word keeps its first ones, and what the pieces
        do in them is computed once. ``lbfgs`` needs contexts that stay.
    :param learning_rate: Adam's.
    :param averaging_steps: how many steps, each with new contexts, ``auto`` takes for several pieces.
    :param averaging_rate: the rate it begins with, in units of what embeddings differ from their mean.
    :param tolerance: ``lbfgs`` is done with a word once five steps lower its distance by less than this
        fraction; 0 always takes all steps.
    :param inverse_words: how many one-piece words the inverse start is fitted on; None takes 16 for each
        dimension of the vectors.
    :param curvature_probes: how many random directions the shared curvature is measured with; 0 does without.
    """

    contexts: str = "random"
    start: str = "inverse"
    layers: tuple[int, ...] | None = None
    side: str = "both"
    solver: str = "auto"
    iterations: int = 80
    contexts_per_step: int = 2
    fresh: bool = False
    learning_rate: float = 5e-3
    averaging_steps: int = 100
    averaging_rate: float = 5e-3
    tolerance: float = 0.02
    inverse_words: int | None = None
    curvature_probes: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        _one_of("contexts", self.contexts, CONTEXTS)
        _one_of("start", self.start, STARTS)
        _one_of("side", self.side, SIDES)
        _one_of("solver", self.solver, SOLVERS)
        for name in ("iterations", "contexts_per_step", "inverse_words", "averaging_steps"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.curvature_probes < 0:
            raise InputError(f"curvature_probes must not be negative, it is {self.curvature_probes}")
        for name in ("learning_rate", "averaging_rate"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be above 0, not {getattr(self, name)}")
        if not 0 <= self.tolerance < 1:
            raise InputError(f"tolerance must be from 0 to below 1, not {self.tolerance}")
        if self.layers is not None and (not self.layers or min(self.layers) < 0):
            raise InputError("layers must name at least one layer, counted from 1 (0: the embedding output)")
        if self.solver != "adam" and self.fresh:
            raise InputError("lbfgs needs contexts that stay; use fresh=False or the adam solver")
        if self.contexts == "static" and self.contexts_per_step > 1:
            raise InputError("there is one static context; use contexts_per_step=1 with contexts=static")

    @classmethod
    def preset(cls, name: str, **changes: Any) -> OtaSettings:
        """``paper`` as the paper's text has it, or ``fast``, with some settings changed.

        >>> OtaSettings.preset("paper").iterations, OtaSettings.preset("paper", iterations=10).iterations
        (4000, 10)
        """
        _one_of("preset", name, tuple(PRESETS))
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise InputError(f"{unknown[0]} is not a setting of one-token approximation")
        if changes.get("contexts") == "static":
            changes.setdefault("contexts_per_step", 1)
        return replace(PRESETS[name], **changes)

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        values = asdict(self)
        values["layers"] = None if self.layers is None else list(self.layers)
        return values


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


PRESETS = {
    "paper": OtaSettings(
        start="zero", solver="adam", iterations=4000, contexts_per_step=1, fresh=True, learning_rate=1e-3
    ),
    "fast": OtaSettings(),
}
