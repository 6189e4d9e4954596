"""The settings of one-token approximation and its two presets."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from rarewords._internal.schema import LARGEST_NUMBER, bounded, check_bounds
from rarewords.errors import InputError

BASELINES = ("first", "last", "avg")


@dataclass(frozen=True)
class OtaSettings:
    """Everything an embedding depends on besides the model and the word. The defaults are preset ``fast``.

    :param frame: what surrounds the word. ``static`` is ``[CLS] _ . [SEP]``, ``random`` is
        ``[CLS] a _ b . [SEP]``, ``masked`` is ``[CLS] a _ b [MASK] c . [SEP]``. Random words are drawn again
        at every step of Adam and at every fourth Newton step.
    :param start: where the search begins: ``zero``, or the ``mean`` of the subwords' embeddings.
    :param layers: the layers whose hidden states are compared, 0 being the embedding output; None compares
        layers 1 to L.
    :param balanced: measure each layer in units of its mean squared state, so that no layer dominates.
    :param steps: the number of steps.
    :param newton: steps in the direction of Newton's method, the second half averaged; otherwise Adam.
    :param rate: the length of a Newton step, in units of the embeddings' mean distance from their mean; or
        Adam's learning rate.
    :param seed: seed of the random words.
    """

    frame: Literal["static", "random", "masked"] = "masked"
    start: Literal["zero", "mean"] = "mean"
    layers: tuple[int, ...] | None = None
    balanced: bool = True
    steps: int = bounded(100, at_least=1)
    newton: bool = True
    rate: float = bounded(0.1, above=0)
    seed: int = bounded(0, at_least=0, at_most=LARGEST_NUMBER)

    def __post_init__(self) -> None:
        check_bounds(self)
        wrong = [layer for layer in self.layers or () if not isinstance(layer, int) or layer < 0]
        if self.layers == () or wrong:
            problem = "layers must name at least one layer, counted from 1 (0: the embedding output)"
            raise InputError(problem, code="settings")

    @classmethod
    def preset(cls, name: str, **changes: Any) -> "OtaSettings":
        """Preset ``fast``, or ``paper`` as the paper's text has it, with some settings changed.

        >>> OtaSettings.preset("paper").steps, OtaSettings.preset("paper", steps=10).steps
        (4000, 10)
        """
        if name not in _PRESETS:
            raise InputError(f"preset must be one of {', '.join(_PRESETS)}, not {name!r}", code="settings")
        return replace(_PRESETS[name], **changes)


_PRESETS = {
    "fast": OtaSettings(),
    "paper": OtaSettings(frame="random", start="zero", balanced=False, steps=4000, newton=False, rate=1e-3),
}
