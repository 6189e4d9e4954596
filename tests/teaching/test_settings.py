"""The settings of teaching are checked when they are made."""

import pytest

from rarewords import TeachSettings
from rarewords.teaching.ask import QUESTIONS
from tests.errors import refused_with


@pytest.mark.parametrize(
    "wrong", [{"rule": "latin"}, {"placement": "beside"}, {"top": 0}, {"contexts": 0}, {"min_count": 0}]
)
def test_a_setting_out_of_its_bounds_is_refused_by_its_name(wrong):
    with refused_with("settings") as refused:
        TeachSettings(**wrong)
    assert next(iter(wrong)) in str(refused.value)


@pytest.mark.parametrize("question", ["no slot _", "<W> without a blank", "<W> <W> _", "<W> _ _"])
def test_a_question_needs_one_word_and_one_blank(question):
    with refused_with("settings"):
        TeachSettings(question=question)


def test_the_questions_that_are_asked_are_such_questions():
    assert [TeachSettings(question=one).question for one in QUESTIONS.values()] == [*QUESTIONS.values()]
