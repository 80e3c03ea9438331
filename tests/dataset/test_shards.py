"""Where shards end: it depends on the documents alone, and hardly on those before."""

import hashlib
from collections.abc import Iterable
from itertools import pairwise

import pytest

from inorder.dataset.export.shards import Shard, plan_shards
from inorder.documents.layout import Result
from inorder.stage.store.inputs import StoredInput

pytestmark = pytest.mark.req("DAT-2")
TARGET = 50_000


def make_result(doc_id: str, version: str = "") -> Result:
    """A stored document; its size follows from its id, from 100 to 5,100 bytes."""
    digest = hashlib.sha256(f"{doc_id}{version}".encode())
    size = 100 + int.from_bytes(digest.digest()[:4], "big") % 5000
    return Result(doc_id, StoredInput("", "chunk", doc_id, f"chunk/{doc_id}", size, digest.hexdigest()), size)


def plan(results: Iterable[Result], share: float = 1.0) -> list[Shard]:
    ordered = sorted(results, key=lambda result: result.doc_id)
    return list(plan_shards(ordered, "", version="1", target_bytes=TARGET, share=share))


def make_corpus() -> dict[str, Result]:
    return {name: make_result(name) for name in (f"docs/{number:05}" for number in range(2000))}


def test_shards_cover_all_documents_once_within_half_and_twice_the_target() -> None:
    corpus = make_corpus()
    shards = plan(corpus.values())
    assert sum(shard.documents for shard in shards) == 2000
    assert [shard.after for shard in shards] == ["", *(shard.last for shard in shards[:-1])]
    sizes = [
        sum(result.size for name, result in corpus.items() if shard.after < name <= shard.last) for shard in shards
    ]
    assert all(TARGET * 0.45 < size < TARGET * 2 for size in sizes[:-1])
    assert len(plan(corpus.values(), share=0.5)) < len(shards)


@pytest.mark.parametrize("name", ["docs/00000", "docs/01000", "docs/01999"])
def test_a_change_of_one_document_changes_at_most_a_few_shards(name: str) -> None:
    corpus = make_corpus()
    before = {shard.key for shard in plan(corpus.values())}
    assert len(before) > 60
    changed = [
        corpus | {name: make_result(name, "2")},
        {each: result for each, result in corpus.items() if each != name},
        corpus | {f"{name}-new": make_result(f"{name}-new")},
    ]
    for results in changed:
        after = {shard.key for shard in plan(results.values())}
        assert after != before
        assert len(after - before) <= 4
        assert len(before - after) <= 4


def test_a_document_larger_than_a_shard_is_one_by_itself() -> None:
    large = make_result("docs/b")._replace(size=10 * TARGET)
    shards = plan([make_result("docs/a"), large, make_result("docs/c")])
    assert [(shard.last, shard.documents) for shard in shards] == [("docs/a", 1), ("docs/b", 1), ("docs/c", 1)]
    assert all(first.last == second.after for first, second in pairwise(shards))
