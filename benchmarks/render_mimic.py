"""Render docs/results/mimic.md from the measurements of benchmarks/mimic_ablation.py.

    PYTHONPATH=src python benchmarks/render_mimic.py [--out docs/results]

``OUT/mimic/MODEL.jsonl`` holds the lines the measurements wrote.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rarewords.files import whole_file
from rarewords.report.tables import markdown_table

COLUMNS = {
    "rare": "all rare",
    "medium": "all medium",
    "frequent": "all frequent",
    "cohyponym+ rare": "cohyponym rare",
    "hypernym rare": "hypernym rare",
    "antonym rare": "antonym rare",
    "corruption rare": "corruption rare",
}


INTRODUCTION = """\
Configurations of attentive mimicking beside the paper's, on WNLaMPro, chosen on dev (2,950 entries). The
paper's own ablation is in the [reproduction](reproduction/README.md).

```
rarewords ota --model M --words WORDS --out ota.safetensors
python benchmarks/mimic_ablation.py OUT --model M --corpus STORE --targets ota.safetensors \\
    --configurations NAMES --scales 0 1 1.4 [--epochs 5]
python benchmarks/render_mimic.py
```

WORDS are those of several pieces that occur at least 100 times, and the keywords of WNLaMPro. All
configurations start from AM+context; `rarewords/reproduction/configurations.py` has what each changes:
`form-dropout` hides the form of 30 % of the instances, `more-dropout` of 50 % and drops 30 % of n-grams,
`contextual` leaves the 200 most frequent words out of contexts as well, `contextual+` drops 70 % and 50
%; `more-dropout+` and `++` learn differences from the mean embedding with a falling learning rate,
without and with frequent words; `all-beside` is all of it with 30 %. `cosine` is `more-dropout` with a
loss that compares directions from the mean embedding alone; `am+pieces-pieces` does that with a falling
learning rate, and `am+pieces`, a preset, adds to its vectors what the language model knows by the pieces:
their one-token approximation, with a weight of .6, or of .2 for a word without contexts. "Length" is that
of the vectors around the mean embedding, in units of the embeddings'; where it is empty they are as the
model gives them, which for `am+pieces` is 2.

What is to be seen:

- **On test `am+pieces` beats the pieces in every relation and frequency, on both models.** `mpnet-mlm`,
  two seeds: rare .197 → .249 and .247, medium .318 → .336 and .333, frequent .312 → .353 and .352; of rare
  words cohyponym+ .190 → .216 and .212 (1.14 and 1.11 times, significant), hypernym .366 → .377 and .376
  (1.03, not significant), antonym .269 → .355 and .382, corruption .052 → .186 and .185 (3.6 times; goal
  3). As no frequency loses, the mixture by count is the vectors everywhere. On dev hypernyms are just below
  the pieces (.369 and .366 against .371 for rare words, .388 and .394 against .399 for medium ones).
- **Without the pieces the goal is not reached**: the paper's AM+context has .154 for cohyponym+ and .295 for
  hypernym of rare words on test with `mpnet-mlm` ([main table](reproduction/mpnet-mlm/report.md)), and no
  configuration without them reaches the pieces' hypernyms on dev.
- **What was wrong with the paper's model here**, and what each part of the cure is worth. Its vectors are
  too short: every configuration gains from the embeddings' length or more, on the bundled model nearly
  twice the MRR for medium words. It learns spelling by heart: the paper's AM+context takes 8 to 10 % from
  contexts on `mpnet-mlm`, `more-dropout` 70 %. And it throws away what the pieces say, which for rare nouns
  of a strong model is more than a bag of embeddings from two sentences (the median): without the pieces
  cohyponym+ and hypernym of rare words stay at .19 to .21 and .31 to .33 on dev, with them they are .225
  and .369 (the pieces: .210 and .371). Words without contexts are mostly misspellings, whose pieces
  mislead; there the pieces have little weight.
- **Trainings differ.** `more-dropout` with the same settings and other random numbers has .274 and .264 on
  dev. Differences of a hundredth between rows mean little. With the cosine loss dev is .278 to .280.
- **More epochs do not help** once vectors are lengthened.
- **On the bundled model** `form-dropout` at a length of 1.4 is better than `am+pieces` (dev .211 to
  .217 in four trainings, against .204). That is the model that ships (below).
- **Speed.** On an H200 shared with other runs, `benchmarks/bench_mimic.py` (1,126 words of a small text)
  trains 9,002 examples a second with `mpnet-mlm`, 31 times the plain implementation's 290, and 9,971 with the
  bundled model, 25 times its 397; on two CPU cores 4,603 with the bundled model, 11.5 times its 399. Ten
  epochs of AM with `mpnet-mlm` took 206 s beside six other jobs. Inference: 4,100 to 5,000 words a second on
  that GPU; for two cores see below.

On `mpnet-mlm` the rows `cosine`, `am+pieces-pieces` and the last of `more-dropout` were measured by a script
of the same content before the configurations were in the program, and put into the form of the other lines;
the test lines of both models were computed from the results that `mimic_ablation.py` had saved.

Context words weighted by frequency, and windows of eight words, were tried on dev without a clear gain
and are not in the program. `decay`, `skip-frequent` and `centre` were begun and cut off. Contexts read by
the model itself do better than any of these ([Beyond](beyond.md)).

## The model that ships

`form-dropout`, five epochs, a length of 1.4, 12,000 n-grams, matrices as int8: 8.8 MB
(`mimic_ablation.py --configurations form-dropout --epochs 5 --scales 1.4 --ngram-limit 12000 --save
form-dropout`). On dev neither the limit nor int8 costs anything (last rows of the table of the bundled
model): .211 with all 24,278 n-grams, as float32 and as int8 (13.6 MB), .216 with 12,000, as float32 and as
int8. On test:

```
rarewords mimic infer --am --words KEYWORDS --corpus STORE --out am.safetensors
rarewords wnlampro eval --set test --vectors am.safetensors --out am.json.gz
```

| | pieces | the model that ships | `WordLearner`, the default |
|---|---:|---:|---:|
| rare | .097 | .155 | .241 |
| medium | .149 | .242 | .322 |
| frequent | .156 | .267 | .316 |
| cohyponym+, rare | .114 | .172 | .266 |
| hypernym, rare | .163 | .219 | .281 |
| antonym, rare | .022 | .191 | .142 |
| corruption, rare | .011 | .063 | .169 |

The first command takes 50 s on two cores for 22,196 words, loading and reading the contexts included.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    asked = parser.parse_args()
    parts = ["# Attentive mimicking: results", "", INTRODUCTION]
    for path in sorted((asked.out / "mimic").glob("*.jsonl"), reverse=True):
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        parts += [f"## {path.stem}", "", f"[The lines behind the tables](mimic/{path.name}).", ""]
        for kind, title in (("dev", "MRR on dev"), ("test", "MRR on test")):
            rows = [row(line) for line in lines if line.get("set", "dev") == kind]
            if rows:
                header = ["configuration", "epochs", "length", "from contexts", "all", *COLUMNS]
                parts += [f"{title}:", "", markdown_table(header, rows, left=1), ""]
    with whole_file(asked.out / "mimic.md") as temporary:
        temporary.write_text("\n".join(parts), "utf-8")


def row(line: dict[str, Any]) -> list[str]:
    """One measurement; a length of 0 is the one the model gives."""
    share = line.get("context_share")
    more = [f"seed {line['seed']}"] if line.get("seed") else []
    more += [f"{line['ngram_limit']:,} n-grams"] if line.get("ngram_limit") else []
    more += [f"int8, {line['packed'] / 1e6:.1f} MB"] if line.get("packed") else []
    return [
        ", ".join([line["configuration"], *more]),
        str(line.get("epoch", "")),
        f"{line['scale']:g}" if line.get("scale") else "",
        "" if share is None else f"{share:.0%}",
        short(line["MRR"]),
        *(short(line[key]) if key in line else "" for key in COLUMNS.values()),
    ]


def short(value: float) -> str:
    return f"{value:.3f}".lstrip("0")


if __name__ == "__main__":
    main()
