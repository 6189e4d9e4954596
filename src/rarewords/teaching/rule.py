"""How probable it is that a word is understood better with its vector than without.

A logistic rule over four signs. Its numbers are fitted by ``benchmarks/judge.py`` on words whose true change
is known: the change of WNLaMPro's reciprocal rank when the word is read as its pieces and its vector. Of the
words that change at all, that share of those with probability p changes for the better.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

# Below, a word is left alone; above the second, its verdict is "better".
WORSE, BETTER = 0.7, 0.85
_MOST_ERRORS = 4.0


@dataclass(frozen=True)
class Signs:
    """What is seen of a word before it is taught.

    :param errors: its held-out gain in standard errors.
    :param approach: how much nearer the answers about it come to its vector, as a cosine.
    :param sureness: the mean log-probability of the first answers about its pieces.
    :param context_share: how much of the vector comes from contexts; the more a word resembles a known one,
        the less.
    """

    errors: float
    approach: float
    sureness: float
    context_share: float


_INTERCEPT = -2.878
_WEIGHTS = Signs(errors=0.3, approach=2.043, sureness=-0.461, context_share=2.623)


def probability(signs: Signs) -> float:
    """The probability that the vector helps."""
    values = max(-_MOST_ERRORS, min(_MOST_ERRORS, signs.errors)), *astuple(signs)[1:]
    total = sum(weight * value for weight, value in zip(astuple(_WEIGHTS), values, strict=True))
    return 1 / (1 + math.exp(-_INTERCEPT - total))
