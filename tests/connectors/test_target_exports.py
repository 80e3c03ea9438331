"""`inorder export --to` DuckDB, Lance and Qdrant: after each run the target equals the index, also after kills."""

import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from inorder.targets.index_reader import IndexReader
from tests.connectors.drivers import open_drivers
from tests.connectors.postgres.exports import Corpus, make_texts
from tests.support.in_process import run_in_process

pytestmark = [pytest.mark.process, pytest.mark.slow]
DOCUMENTS = 30
KILLS, TESTS = 10, 20
FAST = {"INORDER_POLICY": "io", "INORDER_WORKERS": "2", "INORDER_QUIET": "true"}
MANY_WRITES = FAST | {"INORDER_WINDOWS_ENTRIES": "4", "INORDER_WINDOWS_ADAPTIVE": "false"}
Row = tuple[str, int, str, str, list[float] | None, str]
"""Document, number, id and text of a chunk, its vector, and the hash of the document."""


class Kind(NamedTuple):
    """A target, and how others read it."""

    package: str
    place: str
    read: Callable[[Path], list[Row]]


def read_duckdb(place: Path) -> list[Row]:
    import duckdb

    query = """SELECT doc_id, number, chunk_id::VARCHAR, text, vector, hash
        FROM inorder.chunks LEFT JOIN inorder.documents USING (doc_id) ORDER BY doc_id, number"""
    with duckdb.connect(str(place)) as connection:
        return [(*row[:4], list(row[4]), row[5]) for row in connection.execute(query).fetchall()]


def read_lance(place: Path) -> list[Row]:
    import lance

    documents = lance.dataset(str(place / "inorder_documents.lance")).to_table().to_pylist()
    hashes = {each["doc_id"]: each["hash"] for each in documents}
    rows = lance.dataset(str(place / "inorder.lance")).to_table().to_pylist()
    found = [(each["doc_id"], each["number"], each["chunk_id"], each["text"], each["vector"]) for each in rows]
    return sorted((*each, hashes[each[0]]) for each in found)


def read_qdrant(place: Path) -> list[Row]:
    import qdrant_client

    client = qdrant_client.QdrantClient(path=str(place))
    documents = [each.payload for each in client.scroll("inorder_documents", limit=9999)[0]]
    hashes = {each["doc_id"]: each["hash"] for each in documents if "doc_id" in each}
    points = client.scroll("inorder", limit=9999, with_vectors=True)[0]
    client.close()
    found = [(each.payload, each.vector) for each in points]
    rows = [(each["doc_id"], each["number"], each["chunk_id"], each["text"], vector) for each, vector in found]
    return sorted((*each, hashes[each[0]]) for each in rows)


KINDS = {
    "duckdb": Kind("duckdb", "file.duckdb", read_duckdb),
    "lance": Kind("lance", "tables", read_lance),
    "qdrant": Kind("qdrant_client", "points", read_qdrant),
}


@pytest.fixture(params=KINDS)
def scheme(request: pytest.FixtureRequest) -> str:
    scheme: str = request.param
    pytest.importorskip(KINDS[scheme].package, reason="make test-connectors installs it")
    return scheme


class Editions(NamedTuple):
    """DATA with an index, and DATA in which documents have changed, come and gone."""

    first: Path
    second: Path


@pytest.fixture(scope="module")
def editions(tmp_path_factory: pytest.TempPathFactory) -> Editions:
    folder = tmp_path_factory.mktemp("editions")
    first, second = Corpus(folder / "first"), Corpus(folder / "second")
    texts, changed = make_texts(DOCUMENTS, "first"), make_texts(DOCUMENTS + 5, "second")
    first.make(texts)
    kept = {name: text for number, (name, text) in enumerate(texts.items()) if number % 6}
    second.make(kept | dict(list(changed.items())[::3]))
    return Editions(first.data, second.data)


def export(data: Path, scheme: str, folder: Path, *options: str) -> tuple[int, str, str]:
    address = f"{scheme}://{folder}/{KINDS[scheme].place}"
    return run_in_process(["export", "--to", address, "--data", str(data), *options], folder, FAST)


def read(scheme: str, folder: Path) -> list[Row]:
    return KINDS[scheme].read(folder / KINDS[scheme].place)


def list_index(data: Path) -> list[Row]:
    """The rows that a target must have."""
    import numpy as np

    index = IndexReader(str(data))
    try:
        documents = [index.read(each.doc_id) for each in index.list_documents("", 9999)]
    finally:
        index.close()
    return [
        (each.doc_id, chunk.number, chunk.chunk_id, chunk.text, np.frombuffer(chunk.vector, "<f4").tolist(), each.hash)
        for each in documents
        if each is not None
        for chunk in each.chunks
    ]


def test_after_each_export_the_target_equals_the_index(scheme: str, editions: Editions, tmp_path: Path) -> None:
    for data in (editions.first, editions.second, editions.first):
        code, _, err = export(data, scheme, tmp_path)
        assert code == 0, err
        assert read(scheme, tmp_path) == list_index(data)


def test_without_changes_nothing_is_written(scheme: str, editions: Editions, tmp_path: Path) -> None:
    assert export(editions.first, scheme, tmp_path)[0] == 0
    code, out, err = export(editions.first, scheme, tmp_path, "--json")
    assert code == 0, err
    assert '"scheduled": 0' in out or '"scheduled":0' in out


def test_a_missing_package_is_one_line(
    scheme: str, editions: Editions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, KINDS[scheme].package, None)
    code, _, err = export(editions.first, scheme, tmp_path)
    assert (code, err.count("\n")) == (2, 1)
    assert f"pip install 'inorder[{scheme}]'" in err
    assert not (tmp_path / KINDS[scheme].place).exists()


def test_vectors_of_another_length_are_refused_and_recreated(scheme: str, editions: Editions, tmp_path: Path) -> None:
    assert export(editions.first, scheme, tmp_path)[0] == 0
    corpus = Corpus(tmp_path / "other", dense="hash:8")
    corpus.make(make_texts(5, "third"))
    code, _, err = export(corpus.data, scheme, tmp_path)
    assert (code, err.count("\n")) == (2, 1), err
    assert "have 16 dimensions, and those of hash:8 have 8" in err
    assert read(scheme, tmp_path) == list_index(editions.first)
    assert export(corpus.data, scheme, tmp_path, "--recreate")[0] == 0
    assert read(scheme, tmp_path) == list_index(corpus.data)


@pytest.mark.parametrize("seed", range(TESTS))
def test_lance_killed_at_random_moments_ends_equal_to_the_index(seed: int, editions: Editions, tmp_path: Path) -> None:
    pytest.importorskip("lance", reason="make test-connectors installs it")
    chance, kills, number = random.Random(seed), 0, 0
    with open_drivers(tmp_path, MANY_WRITES, "lance", "inorder.targets.lance", "inorder.targets.export") as drivers:
        line = ["export", "--to", f"lance://{tmp_path}/timed", "--data", str(editions.first)]
        began_s = time.monotonic()
        assert drivers.run(*line) == 0, drivers.log.read_text()
        duration_s = time.monotonic() - began_s
        while kills < KILLS:
            number += 1
            data = editions[number % 2]
            line = ["export", "--to", f"lance://{tmp_path}/tables", "--data", str(data)]
            code = -signal.SIGKILL
            while code != 0 and kills < KILLS:
                code, duration_s = drivers.run_or_kill(line, chance, duration_s)
                kills += code != 0
        assert drivers.run(*line) == 0, drivers.log.read_text()
    assert read("lance", tmp_path) == list_index(data)
