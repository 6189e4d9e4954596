"""From text to a saved model that knows new words, in several ways with the same words and sentences.

    python benchmarks/bench_teach.py [--text FILE] [--megabytes 1] [--words 10] [--model default] [--ways row ota]

*teach*: the whole job, which chooses the words of the text, learns them and checks them. The other ways get its
words as a list. *listed*: ``teach`` with that list. *row*: one trained row per word, which is what PEFT's trainable
tokens do: from the mean of the subwords, one pass over the sentences with the masked-LM loss, everything else frozen.
*ota*: one-token approximation, which needs no sentences. *nothing*: load the model, count the text and save. Each way
is a process of its own; only the cost is compared, not what the words are worth. *dry run*: how long
``teach --dry-run`` takes; the JSON file also has the seconds that it expects of *teach*.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
from timing import apart, options, report, sample_text

from rarewords import Corpus, LanguageModel, WordEmbeddings, one_token_approximation, teach
from rarewords.models import choose_device
from rarewords.teaching.holdout import HoldOut, hold_out
from rarewords.teaching.scan import dry_run
from rarewords.teaching.settings import TeachSettings

_BATCH, _MASKED, _RATE, _MOST_TOKENS = 32, 0.15, 1e-3, 128


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--text", type=Path, help="instead of the text of the tests")
    parser.add_argument("--megabytes", type=float, default=1.0)
    parser.add_argument("--words", type=int, default=10)
    others = [way for way in _WAYS if way != "teach"]
    parser.add_argument("--ways", nargs="*", choices=others, default=others, help="which to compare with")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = sample_text(folder / "text.txt", asked.megabytes)
        if asked.text:
            with asked.text.open("rb") as stream:
                text.write_bytes(stream.read(int(asked.megabytes * 1e6)))
        words, run = apart(way_teach, asked.model, text, asked.words, folder / "teach")
        runs, about = {"teach": run}, {"model": Path(asked.model).name, "words": len(words)}
        for way in asked.ways:
            given = asked.words if way == "dry run" else words
            found, runs[way] = apart(_WAYS[way], asked.model, text, given, folder / way)
            if way == "dry run":
                about["expected_seconds"] = round(found, 1)
    report(asked.out, "teaching words", runs, **about, megabytes=asked.megabytes)


def way_dry_run(model: str, text: Path, words: int, _: Path) -> float:
    """The seconds that it expects."""
    return dry_run(model=model, texts=text, settings=TeachSettings(top=words)).total_seconds


def way_teach(model: str, text: Path, words: int, out: Path) -> list[str]:
    """The words that got an embedding; those that the check skips cost as much as those that it adds."""
    result = teach(model, texts=text, settings=TeachSettings(top=words))
    result.save_pretrained(out)
    return [one.word for one in result.words]


def way_listed(model: str, text: Path, words: list[str], out: Path) -> None:
    teach(model, texts=text, words=words).save_pretrained(out)


def way_row(model: str, text: Path, words: list[str], out: Path) -> None:
    lm, holdouts = _read(model, text, words, out)
    start = one_token_approximation(lm, words, method="avg").embeddings
    trained_rows(lm, holdouts, start)
    lm.save_pretrained(out)


def way_ota(model: str, text: Path, words: list[str], out: Path) -> None:
    lm, _ = _read(model, text, words, out)
    lm.add_words(one_token_approximation(lm, words).embeddings)
    lm.save_pretrained(out)


def way_nothing(model: str, text: Path, words: list[str], out: Path) -> None:
    _read(model, text, words, out)[0].save_pretrained(out)


def _read(model: str, text: Path, words: list[str], out: Path) -> tuple[LanguageModel, list[HoldOut]]:
    """The model, and the words with the sentences that ``teach`` would learn them from."""
    lm = LanguageModel.from_pretrained(model)
    corpus = Corpus.build(text, out.with_suffix(".corpus"))
    return lm, hold_out(corpus, {word: corpus.count(word) for word in words}, TeachSettings())


def trained_rows(lm: LanguageModel, holdouts: list[HoldOut], start: WordEmbeddings) -> None:
    """Add words and train their rows in one pass over their sentences."""
    ids = sorted(lm.add_words(start, allow_prediction=True).ids.values())
    model, tokenizer, device = lm.model.train(), lm.tokenizer, choose_device()
    weight = model.get_input_embeddings().weight
    name = next(name for name, own in model.named_parameters() if own is weight)
    old, rows = weight[: ids[0]].clone(), weight[ids].clone().requires_grad_(True)
    optimizer = torch.optim.Adam([rows], lr=_RATE)
    sentences = sorted({sentence for holdout in holdouts for sentence in holdout.contexts})
    encoded = tokenizer(sentences, truncation=True, max_length=_MOST_TOKENS)["input_ids"]
    special = torch.tensor(tokenizer.all_special_ids, device=device)
    torch.manual_seed(0)
    order = np.random.default_rng(0).permutation(len(encoded))
    for batch in np.array_split(order, -(-len(encoded) // _BATCH)):
        own = [encoded[row] for row in batch]
        longest = max(map(len, own))
        padded = [[*ids, *[tokenizer.pad_token_id] * (longest - len(ids))] for ids in own]
        tokens = torch.tensor(padded, device=device)
        drawn = (torch.rand(tokens.shape, device=device) < _MASKED) & ~torch.isin(tokens, special)
        given = {
            "input_ids": torch.where(drawn, tokenizer.mask_token_id, tokens),
            "attention_mask": (tokens != tokenizer.pad_token_id).long(),
        }
        with torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
            logits = torch.func.functional_call(model, {name: torch.cat([old, rows])}, (), given).logits
        torch.nn.functional.cross_entropy(logits[drawn].float(), tokens[drawn]).backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        weight[ids] = rows
    model.eval()


_WAYS = {
    "teach": way_teach,
    "listed": way_listed,
    "row": way_row,
    "ota": way_ota,
    "nothing": way_nothing,
    "dry run": way_dry_run,
}

if __name__ == "__main__":
    main()
