"""Verdicts and tests of the paper's conclusions."""

from experiments.paper.part import Check, Claim, count_verdicts, p_text


def _claim(*holds):
    return Claim("s", "n", "t", tuple(Check(f"check {number}", one) for number, one in enumerate(holds)))


def test_a_claim_is_seen_if_every_check_holds_and_in_part_if_some_do():
    claims = [_claim(True, True), _claim(True, False), _claim(False), _claim()]
    assert [claim.verdict for claim in claims] == ["seen", "seen in part", "not seen", "not tested"]
    assert count_verdicts([*claims, claims[0]]) == "2 seen, 1 seen in part, 1 not seen, 1 not tested"
    assert count_verdicts(claims[2:3]) == "1 not seen"
    assert [claim.evidence for claim in claims] == [
        "2 of 2 hold, for example check 0",
        "1 of 2 hold; not check 1",
        "check 0",
        "no entries to test it on",
    ]


def test_numbers_for_readers():
    assert [p_text(p) for p in (0.0123, 0.0001, 1.0)] == ["p = 0.012", "p < 0.001", "p = 1.000"]
