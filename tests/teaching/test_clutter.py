"""Parts of addresses and markup, repeated lines, cut-off words and inflections are not vocabulary."""

from rarewords import Corpus
from rarewords.teaching.clutter import ADDRESS, CUT_OFF, INFLECTED, REPEATED, clutter, summary

CLUTTERED = """
See http://dailymed.nlm.nih.gov/dailymed/druginfo.cfm?setid=3 and www.dailymed.org for the blimpet.
Ask joe@dailymed.org about a ripe blimpet, or read <b class=kapow>this</b> about the blimpet.
A blimpet fell from the tree, and the skiers ate the blimpet; skiers like it.
They were wor-
shipped, and wor-
king hard, they sold a blimpet to the skiers near the hut for a coin.
Copyright Zorblax Press, page 1.
Copyright Zorblax Press, page 2.
Copyright Zorblax Press, page 3.
Copyright Zorblax Press, page 4.
Druginfo.cfm again: http://druginfo.cfm/kapow=1 for all.
"""


def test_each_kind_of_clutter_is_recognized(lm, tmp_path):
    (tmp_path / "text.txt").write_text(CLUTTERED, "utf-8")
    corpus = Corpus.build(tmp_path / "text.txt", tmp_path / "corpus", workers=1)
    words = ("blimpet", "dailymed", "druginfo", "cfm", "kapow", "zorblax", "wor", "skiers")
    assert clutter(corpus, {word: corpus.count(word) for word in words}, lm.whole_words) == {
        "dailymed": ADDRESS,
        "druginfo": ADDRESS,
        "cfm": ADDRESS,
        "kapow": ADDRESS,
        "zorblax": REPEATED,
        "wor": CUT_OFF,
        "skiers": INFLECTED,
    }


def test_the_summary_has_a_line_for_each_reason():
    skipped = {f"w{number}": ADDRESS for number in range(1200)} | {"zorblax": REPEATED}
    assert summary(skipped) == [f"{ADDRESS}: 1,200 (w0, w1, w2, w3, w4, …)", f"{REPEATED}: 1 (zorblax)"]
