"""The parts of the reproduction, in the order of the paper."""

from rarewords.reproduction.parts import ablation, beyond, examples, heatmap, main, methods, ota
from rarewords.reproduction.parts.base import Part

PARTS: dict[str, Part] = {
    part.name: part
    for part in (ota.PART, methods.PART, heatmap.PART, ablation.PART, main.PART, examples.PART, beyond.PART)
}
