"""The report's Markdown as a page; the reports of a run are looked at in test_run.py, which makes one."""

from experiments.paper.report import page


def test_verdicts_and_the_papers_rows_are_marked_and_text_is_escaped(tmp_path):
    text = "\n".join(
        ["## A & <b>", "", "| r | model |", "|---|---|", "| x | paper: base |", "| y | AM |", "", "- **not seen** no"]
    )
    html = page(text, tmp_path)
    assert '<tr class="paper">\n<td>x</td>' in html
    assert html.count('class="paper"') == 1
    assert '<span class="pill not-seen">not seen</span> no' in html
    assert "A &amp; " in html
