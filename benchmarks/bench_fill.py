"""Loading the model and filling blanks, against the fill-mask pipeline of Transformers.

    python benchmarks/bench_fill.py [--blanks 200] [--model default]

One blank at a time, and many at once. The report says how often the first answers agree.
"""

import numpy as np
from timing import in_turns, options, report
from transformers import pipeline

from rarewords import LanguageModel, Query
from rarewords.models import model_folder

PATTERNS = ("a <W> is a kind of _ .", "<W> and _ .", '"<W>" refers to a _ .', "<W> is the opposite of _ .")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--blanks", type=int, default=200)
    asked = parser.parse_args()
    folder = str(model_folder(asked.model))
    load = {
        "LanguageModel": lambda: LanguageModel.from_pretrained(asked.model, device="cpu"),
        "pipeline": lambda: pipeline("fill-mask", model=folder, device="cpu"),
    }
    in_turns(load, 1)  # imports, and the bundled model is unpacked
    loaded, runs = in_turns(load, 3)
    report(asked.out, "loading a model", runs)
    lm, pipe = loaded.values()

    words = list(lm.whole_words)[2000:]
    # Half of the words are whole, half are glued from two, so that lengths differ as they do in probing.
    drawn = np.random.default_rng(0).choice(words, (asked.blanks, 2))
    asks = [
        (PATTERNS[i % len(PATTERNS)], first if i % 2 else first + second) for i, (first, second) in enumerate(drawn)
    ]
    texts = [pattern.replace("<W>", word).replace("_", pipe.tokenizer.mask_token) for pattern, word in asks]
    one = {
        "fill_mask": lambda: [lm.fill_mask(text) for text in texts[:20]],
        "pipeline": lambda: [pipe(text) for text in texts[:20]],
    }
    report(asked.out, "one blank at a time", in_turns(one, 2)[1])
    queries = [Query(pattern, word) for pattern, word in asks]
    many = {"fill": lambda: lm.fill(queries, top_k=5), "pipeline": lambda: pipe(texts, batch_size=32)}
    found, runs = in_turns(many, 2)
    theirs = [one[0]["token"] for one in found["pipeline"]]
    same = float((found["fill"].ids[:, 0] == np.array(theirs)).mean())
    report(asked.out, "many blanks", runs, blanks=len(queries), same_first_answer=round(same, 4))


if __name__ == "__main__":
    main()
