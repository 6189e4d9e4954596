"""WordNet 3.0 through NLTK, from NLTK's data folders or from Debian's package.

Debian's ``/usr/share/wordnet`` has all of WordNet's files but ``lexnames``, the list of the names of the
lexicographer files; it is part of the format and supplied here, in memory.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

from rarewords.errors import InputError

DEBIAN_FOLDER = Path("/usr/share/wordnet")
_NEEDED = ("data.noun", "data.adj", "index.noun", "index.adj")

# The lexicographer files by number, and the part of speech each belongs to.
_TOPICS = {
    "noun": (
        "Tops act animal artifact attribute body cognition communication event feeling food group "
        "location motive object person phenomenon plant possession process quantity relation shape state "
        "substance time"
    ),
    "verb": (
        "body change cognition communication competition consumption contact creation emotion motion "
        "perception possession social stative weather"
    ),
}
_LEXNAMES = (
    *((name, 3) for name in ("adj.all", "adj.pert")),
    ("adv.all", 4),
    *((f"noun.{topic}", 1) for topic in _TOPICS["noun"].split()),
    *((f"verb.{topic}", 2) for topic in _TOPICS["verb"].split()),
    ("adj.ppl", 3),
)


def open_wordnet(folder: str | Path | None = None) -> Any:
    """NLTK's WordNet reader.

    :param folder: where WordNet's files are; by default NLTK's data folders, then Debian's.
    """
    try:
        import nltk
        from nltk.corpus.reader.wordnet import WordNetCorpusReader
    except ImportError:
        raise InputError("building WNLaMPro needs NLTK: pip install 'rarewords[wordnet]'") from None
    root = _find(nltk, None if folder is None else Path(folder))

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def open(self, file: str) -> Any:
            if file == "lexnames":
                rows = enumerate(_LEXNAMES)
                return io.StringIO("".join(f"{number:02d}\t{name}\t{pos}\n" for number, (name, pos) in rows))
            return super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            """A map between WordNet versions, for other languages, from files that need not be there."""

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that other languages are not available: none is asked for
        reader = Reader(root, None)
    version = reader.get_version()
    if version != "3.0":
        raise InputError(f"WordNet in {root} is version {version}; WNLaMPro is built from 3.0")
    return reader


def _find(nltk: Any, folder: Path | None) -> Any:
    if folder is not None:
        missing = [name for name in _NEEDED if not (folder / name).is_file()]
        if missing:
            raise InputError(f"{folder} has no {missing[0]}, so it is not a folder of WordNet's files")
        return _allowed(nltk, folder)
    for resource in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return nltk.data.find(resource)
        except LookupError:
            continue
    if all((DEBIAN_FOLDER / name).is_file() for name in _NEEDED):
        return _allowed(nltk, DEBIAN_FOLDER)
    raise InputError(
        "WordNet 3.0 was not found; install it with 'python -m nltk.downloader wordnet' "
        "or, on Debian and Ubuntu, 'apt install wordnet-base'"
    )


def _allowed(nltk: Any, folder: Path) -> str:
    # NLTK opens only what lies under its data path.
    if str(folder) not in nltk.data.path:
        nltk.data.path.append(str(folder))
    return str(folder)
