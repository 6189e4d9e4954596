"""One-token approximation with preset ``fast``, against preset ``paper``.

    python benchmarks/bench_ota.py [--words 8] [--paper-steps 20] [--model default]

The words are keywords of WNLaMPro, evenly drawn. Of the 4,000 steps of preset ``paper`` only some are taken,
and the time is scaled up. Preset ``fast`` measures the model's curvature once, which is kept in the cache; that
is not counted.
"""

from timing import Run, in_turns, options, report

from rarewords import LanguageModel, OtaSettings, one_token_approximation, wnlampro


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--words", type=int, default=8)
    parser.add_argument("--paper-steps", type=int, default=20)
    asked = parser.parse_args()
    lm = LanguageModel.from_pretrained(asked.model)
    keywords = list(dict.fromkeys(entry.word.text for entry in wnlampro.load()))
    split = [word for word in keywords if len(lm.subwords(word)) > 1]
    words = split[:: len(split) // asked.words][: asked.words]
    one_token_approximation(lm, words[:2], OtaSettings(steps=2))
    paper = OtaSettings.preset("paper")
    few = OtaSettings.preset("paper", steps=asked.paper_steps)
    ways = {
        "fast": lambda: one_token_approximation(lm, words),
        "paper": lambda: one_token_approximation(lm, words, few),
    }
    _, runs = in_turns(ways, 1)
    times = paper.steps / few.steps
    runs["paper"] = Run(runs["paper"].seconds * times, runs["paper"].processor * times)
    report(asked.out, "one-token approximation", runs, words=len(words), paper_steps_taken=few.steps)


if __name__ == "__main__":
    main()
