"""What an item, its inputs and a plan are known by: two different ones are never taken for the same."""

import hashlib
import time
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.runtime.identity import PlanDigest, hash_strings
from inorder.stage import freshness, worker
from inorder.stage.files import file_stat
from inorder.stage.files.hash_cache import HashCache
from inorder.stage.fingerprints import combine_sha256, list_published
from inorder.stage.freshness import get_sha256
from inorder.stage.plan_identity import hash_plan, identify_item
from inorder.stage.run import run_stage
from tests.stage.jobs import STAGE, Place
from tests.support.system_calls import SystemCalls

HOUR_NS = 3600 * 10**9


# ---- inputs


@pytest.mark.req("RUN-4")
def test_inputs_that_swap_their_names_are_other_inputs(place: Place) -> None:
    one, other = place.source("one", "first\n"), place.source("other", "second\n")
    known: dict[str, Any] = {"policy": "io"}
    assert place.run([place.item("a", inputs={"text": one, "note": other})], **known).succeeded == 1
    assert place.run([place.item("a", inputs={"text": one, "note": other})], **known).skipped == 1
    assert place.run([place.item("a", inputs={"text": other, "note": one})], **known).succeeded == 1
    assert place.loud("a") == "SECOND\n"


def test_names_and_hashes_of_inputs_do_not_run_together() -> None:
    hashes = [{"a": "1", "b": "2"}, {"a": "2", "b": "1"}, {"a1": "", "b": "2"}, {"b": "2", "c": "1"}]
    assert len({combine_sha256(each) for each in hashes}) == len(hashes)


# ---- items and plans


def plan_of(kind: Any, *items: inorder.WorkItem) -> inorder.StagePlan:
    return inorder.StagePlan(STAGE, kind(items))


@pytest.mark.req("JRN-3")
@pytest.mark.parametrize(
    "change",
    [{"item_id": "b"}, {"cfg_hash": "2"}, {"outputs": {"loud": "other.txt"}}, {"outputs": {"other": "a.txt"}}],
    ids=["id", "configuration", "path of an output", "name of an output"],
)
def test_an_item_is_known_by_its_id_its_configuration_and_its_outputs(change: dict[str, Any]) -> None:
    known: dict[str, Any] = {"item_id": "a", "cfg_hash": "1", "outputs": {"loud": "a.txt"}}
    assert identify_item(inorder.WorkItem(**known)) == identify_item(inorder.WorkItem(**known))
    assert identify_item(inorder.WorkItem(**known)) != identify_item(inorder.WorkItem(**(known | change)))


@pytest.mark.req("JRN-1", "JRN-3")
@pytest.mark.parametrize("change", [{"item_id": "c"}, {"cfg_hash": "2"}], ids=["id", "configuration"])
def test_a_plan_is_known_by_the_ids_and_configurations_of_its_items(change: dict[str, Any]) -> None:
    first = inorder.WorkItem(item_id="a", cfg_hash="1")
    known: dict[str, Any] = {"item_id": "b", "cfg_hash": "1"}
    plans = [plan_of(list, first, inorder.WorkItem(**(known | more))) for more in ({}, change)]
    assert hash_plan(plans[0]) != hash_plan(plans[1])
    assert hash_plan(plans[0]) == hash_plan(plan_of(tuple, first, inorder.WorkItem(**known)))


@pytest.mark.req("JRN-3")
def test_the_parts_of_a_digest_do_not_run_together() -> None:
    def digest(*items: bytes) -> bytes:
        found = PlanDigest(lambda item: bytes(item))
        for item in items:
            found.add(item)
        return found.value()

    assert len({digest(b"ab", b"c"), digest(b"a", b"bc"), digest(b"abc"), digest(b"abc", b"")}) == 4
    assert len({hash_strings("ab", "c"), hash_strings("a", "bc"), hash_strings("abc"), hash_strings("abc", "")}) == 4
    items = [("a", "bc"), ("ab", "c"), ("abc", "")]
    assert len({identify_item(inorder.WorkItem(item_id=name, cfg_hash=hash_)) for name, hash_ in items}) == 3


# ---- a file that changes while it is hashed


def change_while_hashing(monkeypatch: pytest.MonkeyPatch, module: Any, path: Path, text: str) -> None:
    """The file gets another text right after it was read, and that was long ago."""
    real = module.hash_file
    monkeypatch.setattr(file_stat, "time_ns", lambda: time.time_ns() + HOUR_NS)

    def hashing(hashed: str) -> str:
        digest: str = real(hashed)
        if hashed == str(path):
            path.write_text(text, encoding="utf-8")
            monkeypatch.setattr(module, "hash_file", real)
        return digest

    monkeypatch.setattr(module, "hash_file", hashing)


@pytest.mark.req("RUN-17")
def test_a_hash_is_stored_with_the_stat_from_before_the_file_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    change_while_hashing(monkeypatch, freshness, path, "new and longer")
    cache = HashCache(str(tmp_path / "cache.sqlite"))
    get_sha256(str(path), cache)
    cache.flush()
    assert get_sha256(str(path), cache) == hashlib.sha256(b"new and longer").hexdigest()
    cache.close()


@pytest.mark.req("RUN-17")
def test_an_input_that_changes_between_its_hash_and_its_worker_is_not_taken_for_what_was_hashed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place.source("item-0000", "old")
    change_while_hashing(monkeypatch, worker, path, "new and longer")
    outcome = place.run(place.items(1), policy="io", retries=1)
    assert outcome.succeeded == 1
    assert place.row("item-0000")["input_sha256"] == hashlib.sha256(b"new and longer").hexdigest()
    assert place.row("item-0000")["attempts"] == 2


# ---- removal


@pytest.mark.req("RUN-4")
def test_the_fingerprint_of_an_item_is_removed_before_its_outputs(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in between, the item must not count as up to date."""
    outputs = {"loud": "loud/a.txt", "more": "loud/b.txt"}
    assert list_published(str(place.data), outputs) == ["loud/a.txt.fp.json", "loud/a.txt", "loud/b.txt"]
    place.run(place.items(2), policy="io")
    calls = SystemCalls(monkeypatch, place.data)
    plan = inorder.StagePlan(STAGE, place.items(1), retires=lambda *_: True)
    run_stage(plan, print, place.options(policy="io"))
    removed = [path for name, path in calls.log if name == "unlink" and path.startswith("loud/")]
    assert removed == ["loud/item-0001.txt.fp.json", "loud/item-0001.txt"]
