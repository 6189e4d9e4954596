"""The paper's own figures, for BERT-base and, in the main table, BERT-large."""

from rarewords.probe.dataset import BANDS

CITATION = (
    "Timo Schick and Hinrich Schütze: Rare Words: A Major Problem for Contextualized Embeddings "
    "and How to Fix it by Attentive Mimicking. AAAI 2020."
)
CORPUS_WORDS = 1_000_000_000  # nearly; the Westbury Wikipedia corpus

# Figure of one-token approximation: mean cosine distance (in ten-thousandths) at iterations 1, 10, 100, 200 …
OTA_MARKS = (1, 10, *range(100, 5001, 100))
OTA_STATIC = """
9510 8947 5930 4711 4107 3738 3489 3311 3178 3076 2996 2932 2881 2839 2805 2776 2752 2732 2715 2700 2687 2676
2666 2657 2650 2642 2636 2630 2624 2619 2614 2609 2605 2600 2595 2591 2586 2582 2577 2572 2568 2563 2558 2553
2548 2543 2538 2532 2527 2521 2516 2510"""
OTA_RANDOM = """
9377 8500 5465 4137 3486 3110 2880 2726 2622 2546 2491 2449 2415 2390 2368 2349 2336 2319 2304 2287 2277 2265
2254 2240 2230 2220 2210 2200 2191 2186 2177 2165 2155 2152 2147 2140 2133 2131 2129 2126 2127 2124 2125 2131
2136 2134 2139 2141 2145 2149 2156 2160"""
OTA_CURVES = {
    frame: dict(zip(OTA_MARKS, (int(one) / 10_000 for one in text.split()), strict=True))
    for frame, text in (("static", OTA_STATIC), ("random", OTA_RANDOM))
}

# Figure of methods, dev and test: MRR of rare, medium and frequent keywords.
METHODS = {
    "pieces": (0.112, 0.229, 0.350),
    "ota": (0.107, 0.216, 0.332),
    "first": (0.063, 0.071, 0.190),
    "last": (0.033, 0.082, 0.196),
    "avg": (0.033, 0.073, 0.201),
}

# Table of configurations, dev: MRR after 5 and after 10 epochs.
ABLATION = {
    "am": (0.258, 0.253),
    "am+context": (0.262, 0.276),
    "no-ota": (0.219, 0.220),
    "no-form": (0.138, 0.133),
    "no-context": (0.227, 0.225),
}
ABLATION_EPOCHS = (5, 10)

# Main table, test: MRR, P@3 and P@10 for rare, medium and frequent keywords; corruptions are rare only.
MAIN_MODELS = ("base", "base+AM", "large", "large+AM")
_MAIN = """
antonym    base     .149 .065 .025  .089 .044 .021  .390 .170 .061
antonym    base+AM  .449 .167 .075  .511 .176 .064  .482 .195 .074
antonym    large    .234 .083 .044  .218 .088 .036  .541 .209 .081
antonym    large+AM .529 .194 .075  .558 .195 .068  .570 .228 .088
hypernym   base     .276 .122 .066  .327 .151 .077  .416 .204 .109
hypernym   base+AM  .300 .135 .074  .343 .158 .081  .377 .181 .096
hypernym   large    .284 .128 .065  .350 .169 .086  .462 .226 .117
hypernym   large+AM .299 .137 .074  .323 .149 .079  .401 .193 .101
cohyponym  base     .147 .065 .054  .177 .089 .070  .294 .150 .116
cohyponym  base+AM  .213 .106 .082  .213 .110 .090  .262 .136 .108
cohyponym  large    .174 .085 .067  .210 .109 .091  .337 .183 .143
cohyponym  large+AM .227 .110 .087  .216 .106 .089  .292 .153 .121
corruption base     .020 .007 .004
corruption base+AM  .254 .095 .038
corruption large    .062 .022 .012
corruption large+AM .261 .095 .038
"""
MAIN = {
    (relation, model): tuple(map(float, numbers))
    for relation, model, *numbers in (line.split() for line in _MAIN.strip().splitlines())
}

# Entries by relation and frequency.
SIZES = {
    "antonym": (41, 59, 266),
    "hypernym": (1191, 1785, 4750),
    "cohyponym": (1960, 2740, 6126),
    "corruption": (2880,),
}

# Heat map: up to this count the most probable ranks are 65 to 128; above, most words rank up to 16.
HEAT_MAP_COUNT = 256
HEAT_MAP_RANK = 16

# Example queries: keyword, pattern, answers of BERT, answers of BERT with AM (if the paper shows them).
_EXAMPLES = """
lime | a <W> is a _ . | lime lemon fruit |
bicycle | a <W> is a _ . | bicycle motorcycle bike |
kumquat | a <W> is a _ . | noun horse dog |
unicycle | a <W> is a _ . | structure unit chain |
unaccessible | something that is <W> is not _ . | possible impossible true allowed \
  | accessible allowed possible available
unicycle | <W> and _ . | bridge body base chain | bicycle pedestrian walking pedestrians
salsify | a <W> is a _ . | cocktail toilet noun boat | shrub flower plant noun
resigntaion | " <W> " is a misspelling of " _ " . | king john son death \
  | resignation resign resigned resigning
"""
EXAMPLES = tuple(tuple(map(str.strip, line.split("|"))) for line in _EXAMPLES.strip().splitlines())


def main_cell(relation: str, model: str, band: str) -> tuple[float, ...] | None:
    """MRR, P@3 and P@10 of the main table, None if it has no such cell."""
    start = 3 * BANDS.index(band)
    return MAIN[relation, model][start : start + 3] or None
