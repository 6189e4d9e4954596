"""A finished store as a part again, to be merged with others; its text is not needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rarewords.corpus.contexts import context_hashes
from rarewords.corpus.part import COLUMNS, offsets, save
from rarewords.corpus.shard import sentence_keys
from rarewords.corpus.store import SENTENCES_PER_BLOCK, Store
from rarewords.files import whole_folder, write_json
from rarewords.progress import progress

_BLOCKS_AT_ONCE = 2048
_CONTEXTS_AT_ONCE = 1 << 20


def export_store(store: Store, folder: Path) -> None:
    """Write ``store`` as a part to ``folder``, in bounded memory; nothing is done if it is there already.

    Hashes of contexts and keys of sentences are not kept in a store; they follow from its words and text.
    """
    if folder.exists():
        return
    with whole_folder(folder) as out:
        hashes, counts, sizes = (store.words.column(name) for name in ("hash", "count", "contexts"))
        lengths = []
        with (out / "words.txt").open("wb") as stream:
            for word in store.vocabulary():
                encoded = word.encode("utf-8")
                lengths.append(len(encoded) + 1)
                stream.write(encoded + b"\n")
        for name, values in (
            ("word_hash", hashes),
            ("word_count", counts),
            ("word_start", offsets(np.array(lengths, dtype=np.int64))),
            ("context_start", offsets(sizes)),
        ):
            save(out / name, values, COLUMNS[name])
        _write_sentences(store, out)
        _write_contexts(store, out)
        write_json(out / "part.json", vars(store.totals))


def _write_sentences(store: Store, out: Path) -> None:
    settings = store.settings
    step = _BLOCKS_AT_ONCE * SENTENCES_PER_BLOCK
    names = ("sentence_high", "sentence_low", "sentence_start", "sentence_words", "all_hashes")
    streams = {name: (out / name).open("wb") for name in (*names, "sentences.txt")}
    text_at = word_at = 0
    with progress("Opening the store", total=store.sentence_count, unit="sentences") as bar:
        for begin in range(0, store.sentence_count, step):
            rows = np.arange(begin, min(begin + step, store.sentence_count))
            texts = [text.encode("utf-8") for text in store.sentences(rows)]
            high, low = sentence_keys(texts)
            words, starts = store.sentence_hashes(rows)
            hashes = context_hashes(words, np.diff(starts), settings.window, settings.seed)
            text_starts = offsets(np.array([len(text) + 1 for text in texts])) + text_at
            for name, values in (
                ("sentence_high", high),
                ("sentence_low", low),
                ("sentence_start", text_starts[:-1]),
                ("sentence_words", starts[:-1] + word_at),
                ("all_hashes", hashes),
            ):
                streams[name].write(values.tobytes())
            streams["sentences.txt"].write(b"\n".join([*texts, b""]))
            text_at, word_at = int(text_starts[-1]), word_at + len(words)
            bar.advance(len(rows))
    streams["sentence_start"].write(np.array([text_at], dtype="<i8").tobytes())
    streams["sentence_words"].write(np.array([word_at], dtype="<i8").tobytes())
    for stream in streams.values():
        stream.close()


def _write_contexts(store: Store, out: Path) -> None:
    starts = np.fromfile(out / "sentence_words", dtype="<i8")
    all_hashes = np.memmap(out / "all_hashes", dtype="<u8", mode="r")
    names = ("context_hash", "context_sentence", "context_position")
    streams = {name: (out / name).open("wb") for name in names}
    for begin in range(0, store.context_rows.rows, _CONTEXTS_AT_ONCE):
        places = np.arange(begin, min(begin + _CONTEXTS_AT_ONCE, store.context_rows.rows))
        sentence = store.context_rows.take("sentence", places)
        position = store.context_rows.take("position", places)
        streams["context_sentence"].write(sentence.tobytes())
        streams["context_position"].write(position.tobytes())
        streams["context_hash"].write(all_hashes[starts[sentence] + position].tobytes())
    for stream in streams.values():
        stream.close()
    del all_hashes
    for name in ("all_hashes", "sentence_words"):
        (out / name).unlink()
