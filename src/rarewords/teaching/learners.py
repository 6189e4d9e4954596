"""Which learner makes the embeddings: one that ships, one that you made, or one fitted on the text at hand.

A matrix ships for the bundled model only. For any other masked LM it is fitted on the words of the text that the
model knows, and kept in the user's cache.
"""

from pathlib import Path
from typing import Any

from filelock import FileLock

from rarewords._internal.cache import key_of, workspace
from rarewords._internal.progress import message
from rarewords.corpus.corpus import Corpus
from rarewords.learner.evidence import Learner
from rarewords.learner.learner import WordLearner, usable_words
from rarewords.learner.settings import BUNDLED_MIMIC, bundled_learner, is_learner
from rarewords.learner.transfer import TransferLearner
from rarewords.lm import LanguageModel
from rarewords.mimic.attentive import AttentiveMimicking
from rarewords.models import cache_folder
from rarewords.wnlampro.dataset import load

# Half a minute for a model of 12 layers of 768 on two cores with fast bfloat16.
FITTED_WORDS, FITTED_CONTEXTS = 600, 2
_FEWEST_WORDS = 300


def learner_for(
    lm: LanguageModel, reader: LanguageModel, learner: Learner | str | Path | None, corpus: Corpus | None = None
) -> tuple[Learner, str]:
    """A learner for a model of any kind, and its name for the report.

    :param reader: the masked LM that reads the sentences, which is ``lm`` itself if that is one.
    :param learner: a learner, a folder of either kind, ``am`` for the attentive mimicking model that ships,
        or None for the best learner there is.
    """
    opened, name = open_learner(reader, learner, corpus)
    if isinstance(opened, WordLearner) and learner is None and lm.kind != "masked":
        opened = opened.with_settings(reading="masked")
    return opened if lm.kind == "masked" else TransferLearner.fit(opened, lm), name


def open_learner(
    lm: LanguageModel, learner: Learner | str | Path | None = None, corpus: Corpus | None = None
) -> tuple[Learner, str]:
    """A learner for a masked LM, and its name for the report."""
    if learner is None:
        return _default_learner(lm, corpus)
    if not isinstance(learner, str | Path):
        return learner, type(learner).__name__
    name = Path(learner).name
    if is_learner(Path(learner)):
        return WordLearner.from_pretrained(learner, lm), name
    folder = BUNDLED_MIMIC if str(learner) == "am" else Path(learner)
    return AttentiveMimicking.from_pretrained(folder, lm), name


def _default_learner(lm: LanguageModel, corpus: Corpus | None) -> tuple[WordLearner, str]:
    """The learner that ships for the bundled model; for any other, one fitted on the text if it suffices."""
    if corpus is None or bundled_learner(lm.fingerprint) is not None:
        return WordLearner.for_model(lm), "default"
    # Those to be taught need not be left out: they are no words the model knows.
    test_words = [entry.word.text for entry in load()]
    fits = corpus.settings.lower_case == lm.lower_case
    usable = len(usable_words(lm, corpus, FITTED_CONTEXTS, test_words)) if fits else 0
    if usable < _FEWEST_WORDS:
        name = f"no fitted learner: the text has {usable:,} known words to fit one on; {_FEWEST_WORDS} are needed"
        message(f"Learner: {name}")
        return WordLearner(lm), name
    how: dict[str, Any] = {"words": FITTED_WORDS, "contexts": FITTED_CONTEXTS, "min_count": FITTED_CONTEXTS}
    folder = cache_folder() / "learners" / key_of(lm.fingerprint, corpus.key, how)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):  # of several processes that need it, one fits it and the others wait
        if not folder.exists():
            with workspace(folder) as cache:
                fitted = WordLearner.fit(lm, corpus, leave_out=test_words, cache=cache, **how)
                fitted.save_pretrained(folder)
    learner = WordLearner.from_pretrained(folder, lm)
    known, cosine = learner.fitted["words"], learner.fitted["held_out_cosine"]
    name = f"fitted on the text: {known:,} known words, held-out cosine {cosine:.2f}"
    message(f"Learner: {name}")
    return learner, name
