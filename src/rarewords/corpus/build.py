"""Building corpora.

1. Each chunk of the text becomes a part, in a work folder beside the corpus.
2. For each range of word hashes: the words of all parts, their summed counts, and of all their contexts the k smallest.
3. For each range of sentence keys: the text of the sentences that these contexts need.
4. The ranges, one after the other, become the tables of the corpus.

Several processes make parts and ranges. Each is named after what it was made from and appears whole or not at all,
so that a second start resumes from there. The number of ranges grows with the data, so memory does not; the result
does not depend on it.
"""

import ctypes
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from rarewords._internal.cache import key_of, require_free, workspace
from rarewords._internal.engine import ProcessMap, cores, processes
from rarewords._internal.files import file_digest, read_json, whole_folder, write_json
from rarewords._internal.progress import message, progress
from rarewords.corpus.columns import open_batch
from rarewords.corpus.corpus import FILES, FORMAT, SENTENCES_PER_BATCH, Corpus, File, Header, Totals
from rarewords.corpus.part import merge_sentences, merge_words, part_of_text
from rarewords.corpus.read import CHUNK_BYTES, Chunk, read_chunks
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.sources import Source, TextSource, find_sources, spool
from rarewords.errors import InputError

CONTEXTS_PER_RANGE = 1_500_000
SENTENCES_PER_RANGE = 250_000
_ROWS = {"words": 1 << 20, "contexts": 1 << 22, "sentences": SENTENCES_PER_BATCH}  # of a record batch


def build(
    texts: str | Path | Iterable[TextSource],
    out: str | Path,
    settings: CorpusSettings | None = None,
    *,
    field: str = "text",
    workers: int | None = None,
) -> Corpus:
    """Make a corpus from text.

    :param texts: texts, files, folders, patterns, records, ``-`` for standard input. A string that names a
        file is read as one. A file whose bytes were already read is skipped.
    :param field: the field that holds the text in JSON lines, CSV and Parquet.
    :param workers: processes; by default as many as the size of the text is worth.
    """
    out, settings = Path(out), settings or CorpusSettings()
    texts = [texts] if isinstance(texts, str | Path) else texts
    require_free(out)
    with workspace(out) as cache:
        sources: dict[str, Source] = {}
        for source in find_sources(spool(texts, cache.path / "spool", field), field):
            digest = source.digest()
            if digest in sources:
                message(f"Skipping {source.path}: its text has already been read")
            elif source.size:
                sources[digest] = source
        if workers is None:
            # To start a process takes as long as to read some megabytes.
            workers = min(cores(), 1 + sum(source.size for source in sources.values()) // (2 * CHUNK_BYTES))
        with processes(workers) as in_processes:
            parts = _read(sources, settings, in_processes, cache.path / "parts")
            merge_parts(parts, settings, list(sources), out, in_processes, cache.path)
    return Corpus.open(out)


def _read(sources: dict[str, Source], settings: CorpusSettings, in_processes: ProcessMap, work: Path) -> list[Path]:
    """Turn text into parts, reusing those of an earlier start."""
    # min_count is applied when merging; parts do not depend on it.
    about = {**asdict(settings), "min_count": 1}
    folders = {work / key_of(about, digest): source for digest, source in sources.items()}
    for folder in work.glob("*"):
        if folder not in folders:
            shutil.rmtree(folder, ignore_errors=True)
    if finished := len(list(work.glob("*/part-*"))):
        message(f"Resuming: {finished} parts are finished")
    parts: list[Path] = []

    def left() -> Iterator[tuple[Chunk, CorpusSettings, Path]]:
        for folder, source in folders.items():
            try:
                for number, chunk in enumerate(read_chunks(source)):
                    parts.append(folder / f"part-{number:06d}")
                    if parts[-1].exists():
                        bar.advance(chunk.bytes / 1e6)
                    else:
                        yield chunk, settings, parts[-1]
            except InputError:  # of a damaged file nothing is kept
                shutil.rmtree(folder, ignore_errors=True)
                raise

    with progress("Reading", total=sum(source.size for source in sources.values()) / 1e6, unit="MB") as bar:
        for _, read in in_processes(_make_part, left()):
            bar.advance(read / 1e6)
    return parts


def _make_part(task: tuple[Chunk, CorpusSettings, Path]) -> int:
    """Make the part of a chunk; returns how much of a file was read for it."""
    chunk, settings, folder = task
    part_of_text(chunk.text, chunk.replaced, settings, folder)
    # Return freed memory to the system (glibc); otherwise a worker grows from part to part.
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)
    return chunk.bytes


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
    read = [read_json(path / "part.json") for path in parts]
    totals = Totals(**{name: sum(part[name] for part in read) for name in ("sentences", "words", "replaced")})
    if not totals.words:
        shutil.rmtree(work, ignore_errors=True)  # a second start has no use for it
        raise InputError("the text has no words; check that the files hold text", code="no-text")
    contexts = sum(len(open_batch(path / "words.arrow")["contexts"].flatten()) for path in parts)
    names = [f"{path.parent.name}/{path.name}" for path in parts]
    merged = work / "merge" / key_of(names, asdict(settings))

    def run(step: Callable[[tuple[int, int, Path]], None], name: str, ranges: int) -> list[Path]:
        """The results of a step for some ranges of all 64-bit numbers."""
        edges = [2**64 * number // ranges for number in range(ranges + 1)]
        results = [merged / name / f"{number:06d}" for number in range(ranges)]
        with progress(f"Merging {name}", total=ranges, unit="ranges") as bar:
            for _ in in_processes(step, zip(edges[:-1], edges[1:], results, strict=True)):
                bar.advance()
        return results

    words = run(partial(merge_words, parts, settings), "words", contexts // CONTEXTS_PER_RANGE + 1)
    ranges = totals.sentences // SENTENCES_PER_RANGE + 1
    sentences = run(partial(merge_sentences, parts, words), "sentences", ranges)
    with whole_folder(out) as folder, progress("Writing the corpus"):
        metadata = {"format": FORMAT, "settings": json.dumps(asdict(settings), sort_keys=True)}
        rows = _write_tables(words, sentences, merged / "keys", folder, metadata)
        files = {name: File((folder / name).stat().st_size, file_digest(folder / name)) for name in FILES}
        header = Header(FORMAT, settings, totals, rows["sentences"], rows["contexts"], tuple(sorted(texts)), files)
        write_json(folder / "corpus.json", asdict(header))


def _write_tables(
    words: list[Path], sentences: list[Path], key_file: Path, out: Path, metadata: dict[str, str]
) -> dict[str, int]:
    """Write the Arrow files of a corpus; returns the number of rows of each."""
    with key_file.open("wb") as stream:  # a file, since there may be too many for the memory
        for result in sentences:
            stream.write(open_batch(result / "sentences.arrow")["key"].to_numpy())
        if (rows := stream.tell() // 8) >= 2**32:
            raise InputError("the sample needs more than 2^32 sentences; use fewer contexts", code="text")
    keys = np.memmap(key_file, np.uint64, "r") if rows else np.zeros(0, np.uint64)
    tables = {
        "words": (open_batch(result / "words.arrow") for result in words),
        "contexts": (_context_rows(result, keys) for result in words),
        "sentences": (open_batch(result / "sentences.arrow").select(["text"]) for result in sentences),
    }
    return {name: _write_table(out / f"{name}.arrow", batches, metadata) for name, batches in tables.items()}


def _context_rows(result: Path, keys: np.ndarray) -> pa.RecordBatch:
    """The row of each context's sentence, and its position in it."""
    rows = np.searchsorted(keys, open_batch(result / "keys.arrow")["key"].to_numpy()).astype(np.uint32)
    contexts = open_batch(result / "contexts.arrow")
    return pa.RecordBatch.from_pydict({"sentence": rows[contexts["place"]], "position": contexts["position"]})


def _write_table(path: Path, batches: Iterator[pa.RecordBatch], metadata: dict[str, str]) -> int:
    """Write an Arrow file in record batches of one size, however the given ones are cut; returns its rows."""
    first = next(batches)
    schema, size, rows = first.schema.with_metadata(metadata), _ROWS[path.stem], 0
    # Text is compressed; numbers are mapped into memory.
    options = pa.ipc.IpcWriteOptions(compression="zstd" if path.stem == "sentences" else None)
    held = schema.empty_table()
    with pa.ipc.new_file(str(path), schema, options=options) as writer:
        for batch in chain([first], batches):
            rows += len(batch)
            held = pa.concat_tables([held, pa.Table.from_batches([batch], schema)])
            while len(held) >= size:
                writer.write_batch(_one_batch(held[:size]))
                held = held[size:]
        if len(held):
            writer.write_batch(_one_batch(held))
    return rows


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    # Copied: a slice would carry bytes of what it was cut from.
    columns = [pa.concat_arrays([*column.chunks, pa.array([], column.type)]) for column in table.columns]
    return pa.record_batch(columns, schema=table.schema)
