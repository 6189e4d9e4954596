"""Teaching a model words from text: choose, learn, judge, inject."""

from rarewords.teaching.learning import Learned
from rarewords.teaching.result import Taught
from rarewords.teaching.run import teach
from rarewords.teaching.settings import TeachSettings

__all__ = ["Learned", "Taught", "TeachSettings", "teach"]
