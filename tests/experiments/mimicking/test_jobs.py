"""Work that several processes share."""

from concurrent.futures import ThreadPoolExecutor

from experiments.mimicking.jobs import Job, work_off


def test_each_job_is_done_once_and_after_what_it_needs(tmp_path):
    order = []
    jobs = [Job("last", lambda: order.append("last"), ("first", "second"))]
    jobs += [Job(name, lambda name=name: order.append(name)) for name in ("first", "second")]
    with ThreadPoolExecutor(3) as pool:
        failed = [one.result() for one in [pool.submit(work_off, jobs, tmp_path) for _ in range(3)]]
    assert failed == [[], [], []]
    assert sorted(order[:2]) == ["first", "second"]
    assert order[2:] == ["last"]
    assert work_off(jobs, tmp_path) == []  # a second start does nothing
    assert len(order) == 3


def test_a_failed_job_leaves_its_error_and_stops_only_what_needs_it(tmp_path):
    order = []
    jobs = [
        Job("bad", lambda: 1 / 0),
        Job("needs bad", lambda: order.append("never"), ("bad",)),
        Job("good", lambda: order.append("good")),
    ]
    assert work_off(jobs, tmp_path) == ["bad", "needs bad"]
    assert order == ["good"]
    assert "ZeroDivisionError" in (tmp_path / "bad.failed").read_text("utf-8")
