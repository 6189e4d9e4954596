"""Learning words from ten sentences each, against a plain implementation.

    python benchmarks/bench_learner.py [--words 8] [--model default]

The baseline runs the model once per sentence and computes the logits of every token. Both read sentences as
the learner's settings say; the spelling is left out, as the baseline has none.
"""

import numpy as np
import torch
from timing import in_turns, invented, options, report

from rarewords import LanguageModel, WordLearner
from rarewords.learner.masked import find_word

SENTENCES = 10


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--words", type=int, default=8)
    asked = parser.parse_args()
    lm = LanguageModel.from_pretrained(asked.model)
    learner = WordLearner.for_model(lm).with_settings(spelling=0.0)
    tasks = [(word, sentences[:SENTENCES]) for word, sentences in invented()[: asked.words]]
    learner.learn(*tasks[0])  # the first call prepares what later ones use
    ways = {
        "together": lambda: [one.embedding for one in learner.learn_each(tasks)],
        "one word after the other": lambda: [learner.learn(*task).embedding for task in tasks],
        "plain": lambda: [plain(lm, learner, *task) for task in tasks],
    }
    made, runs = in_turns(ways, 1)
    mean = learner.known.mean.cpu().numpy()
    pairs = zip(made["together"], made["plain"], strict=True)
    same = min(np.corrcoef(one - mean, other - mean)[0, 1] for one, other in pairs)
    report(asked.out, "learning words", runs, words=len(tasks), least_correlation=round(float(same), 4))


@torch.no_grad()
def plain(lm: LanguageModel, learner: WordLearner, word: str, sentences: list[str]) -> np.ndarray:
    """The mean expected embedding, moved by the learner's matrix. *Shape:* (dim,)"""
    found = []
    for sentence in sentences:
        start, end = find_word(word, sentence, lower_case=lm.lower_case)
        kinds = {"masked": [""], "shown": [f"{word} / "], "both": ["", f"{word} / "]}
        for shown in kinds[learner.settings.reading]:
            text = sentence[:start] + shown + lm.tokens.mask_token + sentence[end:]
            encoded = lm.tokenizer(text, return_tensors="pt", truncation=True, max_length=lm.max_length)
            logits = lm.model(**encoded.to(lm.device)).logits[0]
            blank = int((encoded["input_ids"][0] == lm.tokenizer.mask_token_id).nonzero()[0])
            found.append(torch.softmax(logits[blank][learner.known.ids], -1) @ learner.known.embeddings)
    centred = torch.stack(found).mean(0) - learner.known.mean
    moved = centred if learner.transform is None else centred @ learner.transform.to(centred)
    return (learner.known.mean + moved).cpu().numpy()


if __name__ == "__main__":
    main()
