"""Merging parts into a corpus, one range of hashes at a time.

1. For each range of word hashes: the words of all parts, their summed counts, and of all their contexts the k
   smallest (:func:`merge_words`).
2. For each range of sentence keys: the text of the sentences that these contexts need
   (:func:`merge_sentences`).

Each step runs in several processes, leaves its result in the work folder and is not repeated after an interruption.
The number of ranges grows with the data, so memory does not; the result does not depend on it.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from rarewords._internal.cache import key_of
from rarewords._internal.engine import ProcessMap
from rarewords._internal.files import file_digest, read_json, whole_folder, write_json
from rarewords._internal.progress import progress
from rarewords.corpus.columns import offsets, open_batch, rows_between, write_batch
from rarewords.corpus.corpus import FILES, FORMAT, SENTENCES_PER_BATCH, File, Header, Totals
from rarewords.corpus.part import smallest_distinct
from rarewords.corpus.settings import CorpusSettings
from rarewords.errors import InputError

CONTEXTS_AT_ONCE = 1_500_000
SENTENCES_AT_ONCE = 250_000
# A context while words are merged: its word's number in the range, its hash, and where it is.
_CONTEXT = np.dtype([("word", "i8"), ("hash", "u8"), ("key", "u8"), ("position", "u2")])
_ROWS = {"words": 1 << 20, "contexts": 1 << 22, "sentences": SENTENCES_PER_BATCH}  # of a record batch


@dataclass(frozen=True)
class Merge:
    """The parts to be merged, the folder for intermediate results, and the settings that decide."""

    parts: tuple[Path, ...]
    folder: Path
    settings: CorpusSettings

    def results(self, step: str) -> list[Path]:
        """The folders that a finished step has left, in the order of their ranges."""
        return sorted((self.folder / step).glob("[0-9]*"))  # not what a killed run has half written


def merge_parts(
    parts: Sequence[Path],
    settings: CorpusSettings,
    texts: Sequence[str],
    out: Path,
    in_processes: ProcessMap,
    work: Path,
) -> None:
    """Merge parts into a corpus at ``out``; intermediate results go to ``work``.

    :param texts: digests of the texts that the parts were made from.
    """
    names = [f"{path.parent.name}/{path.name}" for path in parts]
    merge = Merge(tuple(parts), work / "merge" / key_of(names, asdict(settings)), settings)
    read = [read_json(path / "part.json") for path in parts]
    totals = Totals(**{name: sum(part[name] for part in read) for name in ("sentences", "words", "replaced")})
    if not totals.words:
        shutil.rmtree(work, ignore_errors=True)  # a second start has no use for it
        raise InputError("the text has no words; check that the files hold text", code="no-text")
    contexts = sum(len(open_batch(path / "words.arrow")["contexts"].flatten()) for path in parts)
    _run(merge, "words", contexts // CONTEXTS_AT_ONCE + 1, in_processes)
    _run(merge, "sentences", totals.sentences // SENTENCES_AT_ONCE + 1, in_processes)
    with whole_folder(out) as folder, progress("Writing the corpus"):
        written = _write_tables(merge, folder)
        files = {name: File((folder / name).stat().st_size, file_digest(folder / name)) for name in FILES}
        header = Header(FORMAT, settings, totals, *written, tuple(sorted(texts)), files)
        write_json(folder / "corpus.json", asdict(header))


def _run(merge: Merge, step: str, ranges: int, in_processes: ProcessMap) -> None:
    """Run a step on each of some ranges of all 64-bit numbers."""
    edges = [2**64 * number // ranges for number in range(ranges + 1)]
    with progress(f"Merging {step}", total=ranges, unit="ranges") as bar:
        for _ in in_processes(partial(_run_range, merge, step), list(enumerate(pairwise(edges)))):
            bar.advance()


def _run_range(merge: Merge, step: str, numbered: tuple[int, tuple[int, int]]) -> None:
    """Run a step on one range, unless its result exists."""
    number, (low, high) = numbered
    folder = merge.folder / step / f"{number:06d}"
    if not folder.exists():
        with whole_folder(folder) as out:
            (merge_words if step == "words" else merge_sentences)(merge, low, high, out)


def merge_words(merge: Merge, low: int, high: int, out: Path) -> None:
    """Words, counts and contexts of a range of word hashes, and the keys of the sentences they need."""
    parts = [rows_between(open_batch(path / "words.arrow"), low, high) for path in merge.parts]
    hashes, first, numbers = np.unique(_joined(parts, "hash"), return_index=True, return_inverse=True)
    counts = np.zeros(len(hashes), dtype=np.int64)
    np.add.at(counts, numbers, _joined(parts, "count"))
    held: list[np.ndarray] = []
    for part, start in zip(parts, offsets([len(part) for part in parts]).tolist(), strict=False):
        contexts = part["contexts"].flatten()
        sample = np.empty(len(contexts), dtype=_CONTEXT)
        sample["word"] = np.repeat(numbers[start : start + len(part)], part["contexts"].value_lengths())
        for name in ("hash", "key", "position"):
            sample[name] = contexts.field(name)
        held.append(sample[counts[sample["word"]] >= merge.settings.min_count])
        if sum(map(len, held)) > 3 * CONTEXTS_AT_ONCE:
            held = [_smallest(np.concatenate(held), merge.settings.contexts)]
    sample = _smallest(np.concatenate(held), merge.settings.contexts)
    keys, place = np.unique(sample["key"], return_inverse=True)
    write_batch(
        out / "words.arrow",
        hash=hashes,
        word=pa.concat_arrays([part["word"] for part in parts]).take(pa.array(first)),
        count=counts,
        contexts=np.bincount(sample["word"], minlength=len(hashes)).astype(np.uint32),
    )
    write_batch(out / "contexts.arrow", place=place, position=sample["position"])
    write_batch(out / "keys.arrow", key=keys)


def _joined(batches: list[pa.RecordBatch], name: str) -> np.ndarray:
    return np.concatenate([batch[name].to_numpy() for batch in batches])


def _smallest(sample: np.ndarray, k: int) -> np.ndarray:
    """The k smallest contexts of each word; of equal ones the one in the sentence with the smallest key."""
    return np.take(sample, smallest_distinct(sample["word"], sample["hash"], k, sample["key"], sample["position"]))


def merge_sentences(merge: Merge, low: int, high: int, out: Path) -> None:
    """The sentences of a range of keys that a sampled context needs, in the order of keys."""
    needed = [rows_between(open_batch(path / "keys.arrow"), low, high) for path in merge.results("words")]
    wanted = np.sort(_joined(needed, "key"))
    found: list[pa.RecordBatch] = []
    for path in merge.parts:
        batch = rows_between(open_batch(path / "sentences.arrow"), low, high)
        first, last = (np.searchsorted(wanted, batch["key"], side) for side in ("left", "right"))
        found.append(batch.filter(pa.array(first < last)))
    keys, first = np.unique(_joined(found, "key"), return_index=True)
    texts = pa.concat_arrays([batch["text"] for batch in found]).take(pa.array(first))
    write_batch(out / "sentences.arrow", key=keys, text=texts)


def _write_tables(merge: Merge, folder: Path) -> tuple[int, int]:
    """Write the Arrow files of a corpus; returns the numbers of sentences and contexts."""
    words = merge.results("words")
    sentences = [open_batch(result / "sentences.arrow") for result in merge.results("sentences")]
    with (merge.folder / "keys").open("wb") as stream:  # a file, since there may be too many for the memory
        for batch in sentences:
            stream.write(batch["key"].to_numpy().tobytes())
        rows = stream.tell() // 8
    if rows >= 2**32:
        raise InputError("the sample needs more than 2^32 sentences; use fewer contexts", code="text")
    keys = np.memmap(merge.folder / "keys", np.uint64, "r") if rows else np.zeros(0, np.uint64)
    tables = {
        "words": (open_batch(result / "words.arrow") for result in words),
        "contexts": (_context_rows(result, keys) for result in words),
        "sentences": (batch.select(["text"]) for batch in sentences),
    }
    metadata = {"format": FORMAT, "settings": json.dumps(asdict(merge.settings), sort_keys=True)}
    for name, batches in tables.items():
        _write_table(folder / f"{name}.arrow", batches, _ROWS[name], metadata)
    return rows, sum(len(open_batch(result / "contexts.arrow")) for result in words)


def _context_rows(result: Path, keys: np.ndarray) -> pa.RecordBatch:
    """The row of each context's sentence, and its position in it."""
    rows = np.searchsorted(keys, open_batch(result / "keys.arrow")["key"].to_numpy()).astype(np.uint32)
    contexts = open_batch(result / "contexts.arrow")
    return pa.RecordBatch.from_pydict({"sentence": rows[contexts["place"]], "position": contexts["position"]})


def _write_table(path: Path, batches: Iterator[pa.RecordBatch], rows: int, metadata: dict[str, str]) -> None:
    """Write an Arrow file in record batches of ``rows`` rows each, however the given ones are cut."""
    first = next(batches)
    schema = first.schema.with_metadata(metadata)
    # Text is compressed; numbers are mapped into memory.
    options = pa.ipc.IpcWriteOptions(compression="zstd" if path.stem == "sentences" else None)
    held = schema.empty_table()
    with pa.ipc.new_file(str(path), schema, options=options) as writer:
        for batch in chain([first], batches):
            held = pa.concat_tables([held, pa.Table.from_batches([batch], schema)])
            while len(held) >= rows:
                writer.write_batch(_one_batch(held[:rows]))
                held = held[rows:]
        if len(held):
            writer.write_batch(_one_batch(held))


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    # Copied: a slice would carry bytes of what it was cut from.
    columns = [pa.concat_arrays([*column.chunks, pa.array([], column.type)]) for column in table.columns]
    return pa.record_batch(columns, schema=table.schema)
