"""What is done already is not done again, and what depends on a change is: exactly that."""

import os
from pathlib import Path
from typing import Any

import pytest

from inorder.engines.process import engine as processes
from inorder.stage import freshness
from inorder.stage.freshness import OUTPUTS_EXIST, SATISFIED_REASONS, UNCHANGED
from tests.stage.jobs import Place

NAMES = [f"item-{number:04}" for number in range(6)]
ONE = "item-0003"


def alter(path: Path) -> None:
    """Other bytes, as many of them, and the time of before."""
    before = path.stat()
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def one_source(place: Place) -> None:
    place.source(ONE, "something else\n")


def one_output(place: Place) -> None:
    alter(place.data / "loud" / f"{ONE}.txt")


def one_output_emptied(place: Place) -> None:
    (place.data / "loud" / f"{ONE}.txt").write_bytes(b"")


def one_output_deleted(place: Place) -> None:
    (place.data / "loud" / f"{ONE}.txt").unlink()


def one_fingerprint_deleted(place: Place) -> None:
    (place.data / "loud" / f"{ONE}.txt.fp.json").unlink()


def one_fingerprint_garbled(place: Place) -> None:
    (place.data / "loud" / f"{ONE}.txt.fp.json").write_text('{"schema_version": 1}')


def one_fingerprint_of_the_future(place: Place) -> None:
    path = place.data / "loud" / f"{ONE}.txt.fp.json"
    path.write_text(path.read_text().replace('"schema_version":1', '"schema_version":2'))


CHANGES = [
    (one_source, "its input has changed"),
    (one_output, "its output 'loud' was altered"),
    (one_output_emptied, "its output 'loud' is empty"),
    (one_output_deleted, "its output 'loud' is missing"),
    (one_fingerprint_deleted, "it has no fingerprint"),
    (one_fingerprint_garbled, "it has no fingerprint"),
    (one_fingerprint_of_the_future, "it has no fingerprint"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("change", "reason"), CHANGES, ids=[change.__name__ for change, _ in CHANGES])
@pytest.mark.req("RUN-4")
def test_exactly_what_depends_on_a_change_is_redone(place: Place, change: Any, reason: str) -> None:
    assert place.run(place.items(6)).succeeded == 6
    assert place.called() == NAMES
    before = place.published()
    change(place)
    found = freshness.check(place.item(ONE), str(place.data))
    assert (found.is_satisfied, found.reason) == (False, reason)
    outcome = place.run(place.items(6))
    assert (outcome.succeeded, outcome.skipped) == (1, 5)
    assert place.called() == [ONE]
    assert {row["reason"] for row in place.rows().values() if row["status"] == "skip"} == {UNCHANGED}
    after = place.published()
    changed = {f"loud/{ONE}.txt", f"loud/{ONE}.txt.fp.json"} if change is one_source else set()
    assert {path for path in after if after[path] != before[path]} == changed
    assert place.run(place.items(6)).skipped == 6


@pytest.mark.req("RUN-4")
def test_a_changed_option_redoes_the_items_it_is_part_of(place: Place) -> None:
    place.run(place.items(6))
    place.called()
    items = [place.item(name, cfg_hash="2" if name == ONE else "1") for name in NAMES]
    assert freshness.check(items[3], str(place.data)).reason == "its configuration has changed"
    assert place.run(items).succeeded == 1
    assert place.called() == [ONE]
    assert place.run(place.items(6)).succeeded == 1
    assert place.called() == [ONE]


def test_an_output_that_gets_another_name_is_made_again(place: Place) -> None:
    place.run([place.item("a", outputs={"loud": "loud/a.txt"})])
    renamed = place.item("a", outputs={"loud": "louder/a.txt"})
    assert place.run([renamed]).succeeded == 1
    both = place.item("a", outputs={"loud": "loud/a.txt", "more": "louder/a.txt"})
    assert freshness.check(both, str(place.data)).reason == "its outputs have other names now"


def test_a_folder_in_the_place_of_an_output_is_no_output(place: Place) -> None:
    place.run([place.item("a")])
    os.unlink(place.data / "loud" / "a.txt")
    (place.data / "loud" / "a.txt").mkdir()
    for fingerprinting in (True, False):
        found = freshness.check(place.item("a"), str(place.data), fingerprinting=fingerprinting)
        assert (found.is_satisfied, found.reason) == (False, "its output 'loud' is not a file")


def test_a_source_that_is_gone_is_tried_and_fails_though_its_output_is_there(place: Place) -> None:
    item = place.item("a")
    place.run([item])
    os.unlink(item.inputs["text"])
    assert freshness.check(item, str(place.data)).reason == "its input cannot be read: No such file or directory"
    assert place.run([item]).failed == 1
    assert place.loud("a") == "TEXT OF A\n"


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.req("RUN-4")
def test_force_does_everything_again(place: Place, policy: str) -> None:
    place.run(place.items(6))
    place.called()
    before = place.published()
    assert place.run(place.items(6), force=True, policy=policy).succeeded == 6
    assert place.called() == NAMES
    assert place.published() == before


@pytest.mark.req("RUN-4")
def test_without_resume_everything_is_done_again(place: Place) -> None:
    place.run(place.items(3))
    place.called()
    assert place.run(place.items(3), resume=False).succeeded == 3
    assert place.called() == NAMES[:3]


@pytest.mark.req("RUN-4")
def test_without_fingerprints_outputs_that_are_there_are_enough(place: Place) -> None:
    assert place.run(place.items(6), fingerprinting=False).succeeded == 6
    assert sorted(place.published()) == [f"loud/{name}.txt" for name in NAMES]
    assert place.row(ONE)["input_sha256"] == ""
    place.called()
    one_source(place)
    one_output(place)
    outcome = place.run(place.items(6), fingerprinting=False)
    assert (outcome.skipped, place.called()) == (6, [])
    assert place.row(ONE)["reason"] == OUTPUTS_EXIST
    one_output_emptied(place)
    assert place.run(place.items(6), fingerprinting=False).succeeded == 1
    assert place.called() == [ONE]


@pytest.mark.req("RUN-4")
def test_outputs_without_fingerprints_are_made_again_once_fingerprints_are_wanted(place: Place) -> None:
    place.run(place.items(2), fingerprinting=False)
    assert place.run(place.items(2)).succeeded == 2
    assert place.run(place.items(2)).skipped == 2


def test_an_item_can_be_asked_itself(place: Place) -> None:
    item = place.item("a")
    assert not item.satisfies(place.data)
    place.run([item])
    assert item.satisfies(place.data)
    one = place.item("a", cfg_hash="2")
    assert not one.satisfies(place.data)
    assert one.satisfies(place.data, fingerprinting=False)
    assert not place.item("a", outputs={}).satisfies(place.data)


def test_the_reasons_of_satisfied_items_are_known_by_name(place: Place) -> None:
    place.run(place.items(1))
    place.run(place.items(1))
    assert place.row(NAMES[0])["reason"] in SATISFIED_REASONS


def test_a_failed_item_is_tried_again_on_the_next_run_and_a_skipped_one_too(place: Place) -> None:
    items = [place.item("a"), place.item("b", "fail"), place.item("c", "skip")]
    place.run(items)
    place.called()
    outcome = place.run(items)
    assert (outcome.succeeded, outcome.skipped, outcome.failed) == (0, 2, 1)
    assert place.called() == ["b", "c"]


@pytest.mark.process
def test_a_fingerprint_says_nothing_that_differs_from_run_to_run(place: Place, tmp_path_factory: Any) -> None:
    other = Place(tmp_path_factory.mktemp("other"))
    place.run(place.items(3))
    other.run(list(reversed(other.items(3))), policy="cpu", workers=1, schedule="sjf")
    assert place.published() == other.published()


def test_deleting_the_manifest_of_a_finished_run_costs_only_its_rows(place: Place) -> None:
    place.run(place.items(3))
    os.unlink(place.data / "manifests" / "shout.jsonl")
    assert place.run(place.items(3)).skipped == 3
    assert len(place.runs()) == 1


def test_an_unreadable_output_is_a_reason_and_not_the_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.run([place.item("a")])

    def broken(path: str) -> tuple[int, int]:
        raise OSError(5, "Input/output error", path)

    monkeypatch.setattr(freshness, "checksum_file", broken)
    found = freshness.check(place.item("a"), str(place.data))
    assert (found.is_satisfied, found.reason) == (False, "its output 'loud' cannot be read: Input/output error")
    place.called()
    outcome = place.run([place.item("a")])
    assert (outcome.succeeded, outcome.skipped, outcome.failed) == (1, 0, 0)
    assert (place.called(), place.loud("a")) == (["a"], "TEXT OF A\n")


@pytest.mark.process
@pytest.mark.req("RUN-4")
def test_where_everything_is_done_no_process_is_started(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("a process was started for nothing")

    place.run(place.items(5), policy="cpu")
    monkeypatch.setattr(processes, "WorkerProcess", refuse)
    assert place.run(place.items(5), policy="cpu").skipped == 5
