"""The same corpus from a Ray cluster, also when one of its nodes is killed during the build."""

import threading
import time

import pytest

from rarewords.corpus import sources
from rarewords.corpus.build import build
from rarewords.corpus.settings import CorpusSettings
from tests.corpus.conftest import digests
from tests.errors import refused_with

ray = pytest.importorskip("ray")
SMALL = CorpusSettings(contexts=50, window=5)


@pytest.fixture
def cluster():
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 80 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **small})
    yield cluster, [cluster.add_node(num_cpus=1, **small) for _ in range(2)]
    ray.shutdown()
    cluster.shutdown()


@pytest.mark.slow
def test_a_killed_node_costs_only_its_shards(cluster, text_file, tmp_path, monkeypatch):
    cluster, nodes = cluster
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    expected = build([text_file], tmp_path / "local", SMALL, workers=1)
    monkeypatch.setattr(sources, "SHARD_BYTES", 8_000)
    shards = tmp_path / ".ray.work" / "shards"
    done_at_kill = []

    def kill():
        while len(done := list(shards.glob("*/done.json"))) < 5:
            time.sleep(0.01)
        done_at_kill.append(len(done))
        cluster.remove_node(nodes[1], allow_graceful=False)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    corpus = build([text_file], tmp_path / "ray", SMALL, engine="ray")
    killer.join()
    total = len(sources.cut(sources.find_sources([text_file]), 1))
    assert 5 <= done_at_kill[0] < total - 10, "the node must die in the middle of the build"
    assert digests(corpus.path) == digests(expected.path)

    # A mistake in the input comes back from the cluster as one line.
    (tmp_path / "bad.jsonl").write_text('{"body": "x"}\n')
    with refused_with("field"):
        build([tmp_path / "bad.jsonl"], tmp_path / "bad", SMALL, engine="ray")
    assert not (tmp_path / "bad").exists()
