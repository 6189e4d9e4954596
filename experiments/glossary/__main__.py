"""What one definition per word is worth: WNLaMPro with WordNet's definitions, and new terms of 2022 to 2024.

    python -m experiments.glossary wnlampro --subset test [--model MODEL] [--corpus CORPUS]
    python -m experiments.glossary sentences --subset test --corpus CORPUS --out FILE.txt.gz
    python -m experiments.glossary masked  --newterm DIR --year 2023 --year 2024 [--model MODEL]
    python -m experiments.glossary encoder --newterm DIR --year 2023 --year 2024 --model ENCODER
    python -m experiments.glossary causal  --newterm DIR --year 2023 --year 2024 --model CAUSAL_LM

``wnlampro``: the mean reciprocal rank when each keyword is taught from its first definition in WordNet, alone or
with the sentences of a corpus. ``masked``: the log-probability of the words around a new term in sentences that
use it. ``encoder``: a sentence that uses a new term is the query; the meanings of all terms of its year are
ranked. ``causal``: the log-probability of what follows a new term. Settings are chosen on WNLaMPro dev and on
2022. ``--limit`` draws a random sample.

``definitions.tsv.xz`` has the definitions, so that a machine without WordNet can run ``wnlampro``; ``definitions``
writes it anew. ``sentences`` writes the sentences of a corpus that ``wnlampro`` reads, for a machine without the
corpus: one that is built of this text has the same first contexts of the keywords.
"""

import gzip
import json
import lzma
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
import torch
import typer

from experiments.common import Results, with_interval
from rarewords import Corpus, LanguageModel, Query, TeachSettings, WordEmbeddings, WordLearner, teach
from rarewords import wnlampro as probing
from rarewords.corpus.corpus import Context
from rarewords.corpus.text import words_of
from rarewords.injection.taught import taught_tokens
from rarewords.learner.evidence import Evidence, LearnedEmbedding
from rarewords.learner.known_words import KnownWords
from rarewords.learner.masked import find_word
from rarewords.models import DEFAULT_MODEL
from rarewords.queries import InputRow
from rarewords.teaching.check import Candidate, mask_neighbours
from rarewords.teaching.holdout import Fold, HoldOut
from rarewords.teaching.learners import learner_for
from rarewords.teaching.transfer_check import HeldOut, held_out_sentences, scores_of_what_follows
from rarewords.tokens import Placement
from rarewords.wnlampro.builder import open_wordnet
from rarewords.wnlampro.dataset import BANDS, Dataset, Entry, band_of
from rarewords.wnlampro.probing import EvalSettings

RESULTS = Path(__file__).parent / "results"
DEFINITIONS = Path(__file__).parent / "definitions.tsv.xz"
_PART_OF_SPEECH = {"antonym": "a", "hypernym": "n", "cohyponym": "n"}
_SENTENCES = 32
_TOKENS_PER_BATCH = 2048
_PLACEMENTS: tuple[Placement, ...] = ("replace", "append")

app = typer.Typer(add_completion=False, help=__doc__)
NewTerm = Annotated[Path, typer.Option(help="The folder of NewTerm.")]
Years = Annotated[list[int], typer.Option(help="2022 to choose on, 2023 and 2024 to report.")]
Limit = Annotated[int | None, typer.Option(help="A random sample of N items.")]
Out = Annotated[Path | None, typer.Option(help="By default results/COMMAND-MODEL.json.")]


@app.command()
def wnlampro(
    model: str = DEFAULT_MODEL,
    subset: Annotated[str, typer.Option(help="dev or test.")] = "dev",
    corpus: Annotated[Path | None, typer.Option(help="For rows with its sentences.")] = None,
    limit: Limit = None,
    out: Out = None,
) -> None:
    """WNLaMPro's keywords, taught from their definition in WordNet."""
    lm, opened = LanguageModel.from_pretrained(model), Corpus.open(corpus) if corpus else None
    learner, glosses = WordLearner.for_model(lm), defined_entries(lm, subset)
    chosen = sorted(sample(list(glosses), limit), key=str)
    dataset, gloss_of = Dataset(tuple(chosen)), {entry.word.text: glosses[entry] for entry in chosen}
    results = _results("wnlampro", lm, out, subset=subset, limit=limit, corpus=opened and opened.key)
    texts = {
        word: list(dict.fromkeys(one.sentence for one in opened.contexts(word, _SENTENCES))) if opened else []
        for word in gloss_of
    }
    ways = {"definition": [Evidence(word, (), (gloss,)) for word, gloss in gloss_of.items()]}
    if opened:
        ways["sentences"] = [Evidence(word, texts[word]) for word in gloss_of]
        ways["both"] = [Evidence(word, texts[word], (gloss,)) for word, gloss in gloss_of.items()]
    bands = np.array([band_of(entry.word.count) for entry in chosen])
    answered = np.array([says(glosses[entry], entry) for entry in chosen])
    groups = {"all": answered | ~answered, **{band: bands == band for band in BANDS}}
    groups |= {"target in definition": answered, "no target in definition": ~answered}
    before = probing.evaluate(lm, dataset).reciprocal
    after = {"subwords": before}
    for name, tasks in ways.items():
        found = [one for one in learner.learn_each(tasks) if one is not None]
        embeddings = WordEmbeddings([one.word for one in found], np.stack([one.embedding for one in found]))
        for placement in _PLACEMENTS:
            how = EvalSettings(method="embeddings", placement=placement)
            asked = probing.evaluate(lm, dataset, how, embeddings=embeddings)
            after[f"{name}, {placement}"] = asked.reciprocal
    for way, values in after.items():
        for group, rows in groups.items():
            if rows.any():
                change = with_interval((values - before)[rows])
                results.add(way=way, group=group, entries=int(rows.sum()), mrr=values[rows].mean(), **change)
    results.show()


@app.command()
def definitions() -> None:
    """Write the first definition in WordNet of every keyword."""
    wordnet, lines = open_wordnet(), set()
    for entry in probing.load():
        pos = _PART_OF_SPEECH.get(entry.relation)
        senses = wordnet.synsets(entry.word.text, pos=pos) if pos else ()
        lines |= {f"{entry.word.text}\t{pos}\t{sense.definition()}\n" for sense in senses[:1]}
    DEFINITIONS.write_bytes(lzma.compress("".join(sorted(lines)).encode(), preset=9))


@app.command()
def sentences(
    corpus: Annotated[Path, typer.Option(help="A corpus made by `rarewords corpus build`.")],
    out: Annotated[Path, typer.Option(help="A text file, gzipped.")],
    model: str = DEFAULT_MODEL,
    subset: Annotated[str, typer.Option(help="dev or test.")] = "dev",
    limit: Limit = None,
) -> None:
    """The sentences of a corpus that `wnlampro` reads with the same options."""
    lm, opened = LanguageModel.from_pretrained(model), Corpus.open(corpus)
    words = {entry.word.text for entry in sample(list(defined_entries(lm, subset)), limit)}
    lines = dict.fromkeys(one.sentence for word in sorted(words) for one in opened.contexts(word, _SENTENCES))
    out.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))


@app.command()
def masked(
    newterm: NewTerm,
    year: Years,
    model: str = DEFAULT_MODEL,
    placement: Annotated[Placement, typer.Option(help="append or replace.")] = "append",
    limit: Limit = None,
    out: Out = None,
) -> None:
    """New terms with a masked LM: the log-probability of neighbours, beside two controls."""
    lm = LanguageModel.from_pretrained(model)
    learner = WordLearner.for_model(lm)
    uses = [use for one in year for use in read_uses(newterm / str(one)) if len(lm.subwords(use["term"])) > 1]
    uses = sample(uses, limit)
    results = _results("masked", lm, out, years=year, placement=placement, limit=limit)
    others = Random(0).sample(uses, len(uses))  # a random other term's definition
    own, other = (
        [
            one and one.embedding
            for one in learner.learn_each(
                [Evidence(use["term"], (), (given["meaning"],)) for use, given in zip(uses, source, strict=True)]
            )
        ]
        for source in (uses, others)
    )
    mean = [learner.known.mean.cpu().numpy()] * len(uses)
    ways = {"definition": own, "mean embedding": mean, "another definition": other}
    before, used = neighbour_scores(lm, uses, [None] * len(uses), placement)
    scores = {name: neighbour_scores(lm, uses, embeddings, placement)[0] for name, embeddings in ways.items()}
    for name, found in scores.items():
        results.add(way=name, terms=int(used.sum()), **with_interval((found - before)[used]))
        if name != "definition":
            change = with_interval((scores["definition"] - found)[used])
            results.add(way=f"definition, against {name}", terms=int(used.sum()), **change)
    results.show()


@app.command()
def causal(
    newterm: NewTerm,
    year: Years,
    model: Annotated[Path, typer.Option(help="The folder of a causal LM.")],
    limit: Limit = None,
    out: Out = None,
) -> None:
    """New terms with a causal LM: the log-probability of what follows, beside the definition in the prompt."""
    lm = LanguageModel.from_pretrained(model)
    learner, _ = learner_for(lm, LanguageModel.from_pretrained(), None)
    uses = sample([use for one in year for use in read_uses(newterm / str(one))], limit)
    results = _results("causal", lm, out, years=year, limit=limit)
    others = Random(0).sample(uses, len(uses))  # a random other term's definition
    ways = {"definition": uses, "another definition": others}
    scores: dict[str, np.ndarray] = {}
    for name, source in ways.items():
        tasks = [Evidence(use["term"], (), (of["meaning"],)) for use, of in zip(uses, source, strict=True)]
        learned = learner.learn_each(tasks)
        candidates = [_held_out(use, one) for use, one in zip(uses, learned, strict=True) if one]
        found, appended = (
            list(held_out_sentences(lm, candidates, placement=placement)) for placement in ("replace", "append")
        )
        prompts = [f"{source[one.owner]['term']}: {source[one.owner]['meaning']}\n" for one in found]
        prompted = [
            HeldOut(one.owner, (_with_prompt(lm, prompt, one.readings[0]),), one.following)
            for one, prompt in zip(found, prompts, strict=True)
        ]
        subwords, replaced = scores_of_what_follows(lm, found).T
        _, both = scores_of_what_follows(lm, appended).T
        scores |= {"subwords": subwords, f"{name}, replace": replaced, f"{name}, append": both}
        scores[f"{name} in the prompt"] = scores_of_what_follows(lm, prompted)[:, 0]
    for way, own in scores.items():
        change = with_interval(own - scores["subwords"])
        results.add(way=way, sentences=len(own), loss=-float(own.mean()), **change)
    results.show()


@app.command()
def encoder(
    newterm: NewTerm,
    year: Years,
    model: Annotated[Path, typer.Option(help="A sentence-transformers folder.")],
    placement: Annotated[Placement, typer.Option(help="append or replace.")] = "replace",
    limit: Limit = None,
    out: Out = None,
) -> None:
    """New terms with an encoder: a sentence that uses one, against all meanings of its year."""
    lm = LanguageModel.from_pretrained(model)
    results = _results("encoder", lm, out, years=year, placement=placement, limit=limit)
    ranks, taught = dict[str, list[float]](), list[bool]()
    for one in year:
        uses = sample(read_uses(newterm / str(one)), limit)
        lines = (newterm / str(one) / "new_terms.jsonl").read_text("utf-8").splitlines()
        meanings = list(dict.fromkeys(json.loads(line)["meaning"] for line in lines))
        glossary = {use["term"]: use["meaning"] for use in uses}
        shuffled = Random(0).sample(list(glossary.values()), len(glossary))
        glossaries = {"definition": glossary, "another definition": dict(zip(glossary, shuffled, strict=True))}
        untaught = _encoder(model)
        texts = [use["question"] for use in uses]
        ranks.setdefault("untaught", []).extend(reciprocal_ranks(untaught, uses, meanings, texts))
        blanked = [f"{text[:start]}it{text[end:]}" for text, (start, end) in map(place_of, uses)]
        ranks.setdefault("term blanked", []).extend(reciprocal_ranks(untaught, uses, meanings, blanked))
        for name, given in glossaries.items():
            done = teach(lm, glossary=given, settings=TeachSettings(placement=placement))
            ranks.setdefault(name, []).extend(reciprocal_ranks(done.model, uses, meanings, texts))
        _forget_meanings(done.language_model, KnownWords.of(lm).mean)
        found = reciprocal_ranks(replace(done).model, uses, meanings, texts)  # of a copy, which makes its model anew
        ranks.setdefault("mean embedding", []).extend(found)
        words = {word.word for word in done.taught}
        taught += [lm.tokens.spelled(use["term"]) in words for use in uses]
    before = np.array(ranks["untaught"])
    for name, rows in {"all": np.ones(len(before), bool), "taught": np.array(taught)}.items():
        for way, own in ranks.items():
            change = with_interval((np.array(own) - before)[rows])
            results.add(way=way, terms=name, sentences=int(rows.sum()), mrr=np.array(own)[rows].mean(), **change)
        for way in ("mean embedding", "another definition"):
            change = with_interval((np.array(ranks["definition"]) - np.array(ranks[way]))[rows])
            results.add(way=f"definition, against {way}", terms=name, sentences=int(rows.sum()), **change)
    results.show()


def sample(items: list[Any], limit: int | None) -> list[Any]:
    """All items, or so many of them at random."""
    return items if limit is None else Random(0).sample(items, min(limit, len(items)))


def _forget_meanings(lm: LanguageModel, mean: torch.Tensor) -> None:
    """Give every taught word the mean embedding. *Shape:* (dim,)"""
    ids = [token for tokens in taught_tokens(lm.model, lm.tokenizer).values() for token in tokens]
    with torch.no_grad():
        lm.model.get_input_embeddings().weight[ids] = mean


def _held_out(use: dict[str, Any], learned: LearnedEmbedding) -> Candidate:
    text, place = place_of(use)
    fold = Fold((), (Context(text, *place),))
    return Candidate(HoldOut(use["term"], 1, (), (fold,)), learned.embedding, learned.embedding[None], 1.0, 0)


def _with_prompt(lm: LanguageModel, prompt: str, reading: InputRow) -> InputRow:
    """A text behind a prompt; special tokens stay at the start."""
    start = len(lm.tokens.special_tokens[0])
    ids = lm.tokenizer(prompt, add_special_tokens=False)["input_ids"]
    return InputRow([*reading.ids[:start], *ids, *reading.ids[start:]])


def defined_entries(lm: LanguageModel, subset: str) -> dict[Entry, str]:
    """The entries whose keyword has several subwords and a definition in WordNet, with that definition."""
    lines = lzma.decompress(DEFINITIONS.read_bytes()).decode().splitlines()
    known = {(word, pos): gloss for word, pos, gloss in (line.split("\t") for line in lines)}
    entries = probing.load().select(subset=subset)
    keys = {entry: (entry.word.text, _PART_OF_SPEECH.get(entry.relation, "")) for entry in entries}
    return {entry: known[key] for entry, key in keys.items() if key in known and len(lm.subwords(key[0])) > 1}


def says(gloss: str, entry: Entry) -> bool:
    """Whether a definition contains a target."""
    return not {target.text for target in entry.targets}.isdisjoint(words_of(gloss, lower_case=True))


def read_uses(folder: Path) -> list[dict[str, Any]]:
    """The sentences that use a term of the year rightly and contain it as it is spelled."""
    path = folder / "CSJ_clean.jsonl"
    lines = (path if path.is_file() else folder / "CSJ.jsonl").read_text("utf-8").splitlines()
    uses = [json.loads(line) for line in lines]
    return [use for use in uses if use["gold"] and find_word(use["term"], use["question"], lower_case=True)]


def place_of(use: dict[str, Any]) -> tuple[str, tuple[int, int]]:
    """The sentence, and where the term stands in it."""
    found = find_word(use["term"], use["question"], lower_case=True)
    assert found is not None  # read_uses keeps no others
    return use["question"], found


def neighbour_scores(
    lm: LanguageModel, uses: Sequence[dict[str, Any]], embeddings: Sequence[Any], placement: Placement
) -> tuple[np.ndarray, np.ndarray]:
    """The mean log-probability of the words around each term, and whether there are any. *Shape:* (uses,) each"""
    queries, tokens, owners = [], [], []
    for row, (use, embedding) in enumerate(zip(uses, embeddings, strict=True)):
        text, place = place_of(use)
        for pattern, token in mask_neighbours(lm, Context(text, *place)):
            queries.append(Query(pattern, use["term"], embedding, placement))
            tokens.append(token)
            owners.append(row)
    sizes = np.bincount(owners, minlength=len(uses))
    sums = np.bincount(owners, log_likelihood(lm, queries, tokens), len(uses))
    return sums / np.maximum(sizes, 1), sizes > 0


def log_likelihood(lm: LanguageModel, queries: Sequence[Query], tokens: Sequence[int]) -> np.ndarray:
    """The natural log-probability of one given token at each query's blank. *Shape:* (queries,)"""
    rows, mask = lm.input_rows(queries), lm.tokenizer.mask_token_id
    result = np.zeros(len(queries), np.float32)

    def scored(batch: list[int], inputs: torch.Tensor) -> torch.Tensor:
        blanks = torch.tensor([list(rows[row].ids).index(mask) for row in batch], device=lm.device)
        wanted = torch.tensor([tokens[row] for row in batch], device=lm.device)
        return lm.logits_at(inputs, blanks).float().log_softmax(dim=-1).gather(1, wanted[:, None])[:, 0]

    for batch, found in lm.in_batches(rows, scored, _TOKENS_PER_BATCH):
        result[batch] = found.cpu().numpy()
    return result


def reciprocal_ranks(
    encoder: Any, uses: Sequence[dict[str, Any]], meanings: list[str], texts: list[str]
) -> list[float]:
    """Of the true meaning of each term."""
    scores = encoder.encode(texts, normalize_embeddings=True) @ encoder.encode(meanings, normalize_embeddings=True).T
    true = scores[np.arange(len(uses)), [meanings.index(use["meaning"]) for use in uses]]
    found: list[float] = (1 / (1 + (scores > true[:, None]).sum(1))).tolist()
    return found


def _encoder(folder: Path) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder))


def _results(command: str, lm: LanguageModel, out: Path | None, **settings: Any) -> Results:
    results = Results(out, f"glossary {command}", lm, **settings)
    results.out = out or RESULTS / f"{command}-{results.model}.json"
    return results


if __name__ == "__main__":
    app()
