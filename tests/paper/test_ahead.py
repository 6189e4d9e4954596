"""Stages made side by side in several processes are those that one process makes."""

from rarewords.engine import engine_for
from rarewords.files import to_json
from rarewords.paper.run import reproduce


def test_several_processes_make_the_same_results(done, lm, store, settings, tmp_path):
    with engine_for("local", workers=2) as engine:
        found = reproduce(lm, store, tmp_path, parts=["methods", "main"], settings=settings, engine=engine)
    alone = done[1].parts
    assert to_json(found.parts) == to_json({name: alone[name] for name in ("methods", "main")})
    # Each training was made once, and by the workers: the parts only found it.
    report = (tmp_path / "report.md").read_text("utf-8")
    assert len(list(tmp_path.glob("stages/training-am+context-*"))) == settings.sample.seeds
    assert "Training AM+context, seed 1" in report
