"""The paper's own figures, for BERT-base and, in the main table, BERT-large."""

from __future__ import annotations

from rarewords.probe.dataset import BANDS

CITATION = (
    "Timo Schick and Hinrich Schütze: Rare Words: A Major Problem for Contextualized Embeddings "
    "and How to Fix it by Attentive Mimicking. AAAI 2020."
)
CORPUS_WORDS = 1_000_000_000  # nearly; the Westbury Wikipedia corpus

# Figure of one-token approximation: iteration, STATIC, RANDOM (mean cosine distance).
OTA_CURVES = (
    (1, 0.9510, 0.9377),
    (10, 0.8947, 0.8500),
    (100, 0.5930, 0.5465),
    (200, 0.4711, 0.4137),
    (300, 0.4107, 0.3486),
    (400, 0.3738, 0.3110),
    (500, 0.3489, 0.2880),
    (600, 0.3311, 0.2726),
    (700, 0.3178, 0.2622),
    (800, 0.3076, 0.2546),
    (900, 0.2996, 0.2491),
    (1000, 0.2932, 0.2449),
    (1100, 0.2881, 0.2415),
    (1200, 0.2839, 0.2390),
    (1300, 0.2805, 0.2368),
    (1400, 0.2776, 0.2349),
    (1500, 0.2752, 0.2336),
    (1600, 0.2732, 0.2319),
    (1700, 0.2715, 0.2304),
    (1800, 0.2700, 0.2287),
    (1900, 0.2687, 0.2277),
    (2000, 0.2676, 0.2265),
    (2100, 0.2666, 0.2254),
    (2200, 0.2657, 0.2240),
    (2300, 0.2650, 0.2230),
    (2400, 0.2642, 0.2220),
    (2500, 0.2636, 0.2210),
    (2600, 0.2630, 0.2200),
    (2700, 0.2624, 0.2191),
    (2800, 0.2619, 0.2186),
    (2900, 0.2614, 0.2177),
    (3000, 0.2609, 0.2165),
    (3100, 0.2605, 0.2155),
    (3200, 0.2600, 0.2152),
    (3300, 0.2595, 0.2147),
    (3400, 0.2591, 0.2140),
    (3500, 0.2586, 0.2133),
    (3600, 0.2582, 0.2131),
    (3700, 0.2577, 0.2129),
    (3800, 0.2572, 0.2126),
    (3900, 0.2568, 0.2127),
    (4000, 0.2563, 0.2124),
    (4100, 0.2558, 0.2125),
    (4200, 0.2553, 0.2131),
    (4300, 0.2548, 0.2136),
    (4400, 0.2543, 0.2134),
    (4500, 0.2538, 0.2139),
    (4600, 0.2532, 0.2141),
    (4700, 0.2527, 0.2145),
    (4800, 0.2521, 0.2149),
    (4900, 0.2516, 0.2156),
    (5000, 0.2510, 0.2160),
)

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

# Main table, test: MRR, P@3 and P@10 by relation, model and frequency; corruptions are rare only.
_Cell = tuple[float, float, float]
MAIN: dict[str, dict[str, tuple[_Cell, ...]]] = {
    "antonym": {
        "base": ((0.149, 0.065, 0.025), (0.089, 0.044, 0.021), (0.390, 0.170, 0.061)),
        "base+AM": ((0.449, 0.167, 0.075), (0.511, 0.176, 0.064), (0.482, 0.195, 0.074)),
        "large": ((0.234, 0.083, 0.044), (0.218, 0.088, 0.036), (0.541, 0.209, 0.081)),
        "large+AM": ((0.529, 0.194, 0.075), (0.558, 0.195, 0.068), (0.570, 0.228, 0.088)),
    },
    "hypernym": {
        "base": ((0.276, 0.122, 0.066), (0.327, 0.151, 0.077), (0.416, 0.204, 0.109)),
        "base+AM": ((0.300, 0.135, 0.074), (0.343, 0.158, 0.081), (0.377, 0.181, 0.096)),
        "large": ((0.284, 0.128, 0.065), (0.350, 0.169, 0.086), (0.462, 0.226, 0.117)),
        "large+AM": ((0.299, 0.137, 0.074), (0.323, 0.149, 0.079), (0.401, 0.193, 0.101)),
    },
    "cohyponym": {
        "base": ((0.147, 0.065, 0.054), (0.177, 0.089, 0.070), (0.294, 0.150, 0.116)),
        "base+AM": ((0.213, 0.106, 0.082), (0.213, 0.110, 0.090), (0.262, 0.136, 0.108)),
        "large": ((0.174, 0.085, 0.067), (0.210, 0.109, 0.091), (0.337, 0.183, 0.143)),
        "large+AM": ((0.227, 0.110, 0.087), (0.216, 0.106, 0.089), (0.292, 0.153, 0.121)),
    },
    "corruption": {
        "base": ((0.020, 0.007, 0.004),),
        "base+AM": ((0.254, 0.095, 0.038),),
        "large": ((0.062, 0.022, 0.012),),
        "large+AM": ((0.261, 0.095, 0.038),),
    },
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

# Example queries: keyword, pattern, answers of BERT, answers of BERT with AM (None: not shown).
EXAMPLES: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...] | None], ...] = (
    ("lime", "a <W> is a _ .", ("lime", "lemon", "fruit"), None),
    ("bicycle", "a <W> is a _ .", ("bicycle", "motorcycle", "bike"), None),
    ("kumquat", "a <W> is a _ .", ("noun", "horse", "dog"), None),
    ("unicycle", "a <W> is a _ .", ("structure", "unit", "chain"), None),
    (
        "unaccessible",
        "something that is <W> is not _ .",
        ("possible", "impossible", "true", "allowed"),
        ("accessible", "allowed", "possible", "available"),
    ),
    (
        "unicycle",
        "<W> and _ .",
        ("bridge", "body", "base", "chain"),
        ("bicycle", "pedestrian", "walking", "pedestrians"),
    ),
    (
        "salsify",
        "a <W> is a _ .",
        ("cocktail", "toilet", "noun", "boat"),
        ("shrub", "flower", "plant", "noun"),
    ),
    (
        "resigntaion",
        '" <W> " is a misspelling of " _ " .',
        ("king", "john", "son", "death"),
        ("resignation", "resign", "resigned", "resigning"),
    ),
)


def main_cell(relation: str, model: str, band: str) -> _Cell | None:
    """MRR, P@3 and P@10 of the main table, None where it has none."""
    cells = MAIN[relation][model]
    place = BANDS.index(band)
    return cells[place] if place < len(cells) else None
