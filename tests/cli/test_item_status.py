"""How an item stands after many runs, and reading manifests that are long, torn, or being written."""

import json
from pathlib import Path
from typing import Any

import pytest

from inorder.stage.freshness import OUTPUTS_EXIST, REMOVED_FROM_PLAN, SATISFIED_REASONS, UNCHANGED
from inorder.stage.manifest import item_status
from inorder.stage.manifest import reader as manifests
from inorder.stage.manifest.item_status import ItemStatuses
from inorder.stage.manifest.reader import find_last_run, read_lines, read_rows

CONFIG = {"stage": "s", "doc_id": "__config__", "status": "config", "options": {"fingerprinting": True}}
UNFINGERPRINTED = CONFIG | {"options": {"fingerprinting": False}}


def row(doc_id: str, status: str, reason: str = "", **fields: Any) -> dict[str, Any]:
    error = {"category": "io", "message": "no", "retryable": False} if status == "failure" else None
    return {"stage": "s", "doc_id": doc_id, "status": status, "reason": reason, "error": error} | fields


def written(folder: Path, *found: dict[str, Any]) -> str:
    path = folder / "s.jsonl"
    path.write_bytes(b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in found))
    return str(path)


@pytest.mark.parametrize(
    ("story", "stands"),
    [
        (["success"], "success"),
        (["failure"], "failure"),
        (["skip:nothing to do"], "skip"),
        (["failure", "success"], "success"),
        (["success", "failure"], "failure"),
        (["failure", "skip:nothing to do"], "skip"),
        (["success", "skip:nothing to do"], "skip"),
        (["success", f"skip:{UNCHANGED}"], "success"),
        (["success", f"skip:{OUTPUTS_EXIST}"], "success"),
        (["success", "failure", f"skip:{UNCHANGED}"], "success"),
        ([f"skip:{UNCHANGED}"], "success"),
        ([f"skip:{UNCHANGED}", "failure"], "failure"),
    ],
)
def test_an_item_stands_as_its_latest_row_says(tmp_path: Path, story: list[str], stands: str) -> None:
    told = [CONFIG] + [line for one in story for line in (row("a", *one.split(":", 1)), CONFIG)]
    found = ItemStatuses.read(written(tmp_path, *told)).get("a")
    assert found is not None
    assert found.status == stands


@pytest.mark.req("DOC-4")
def test_an_item_that_is_gone_does_not_stand_at_all_until_it_comes_back(tmp_path: Path) -> None:
    told = [CONFIG, row("a", "success"), row("b", "success"), CONFIG, row("a", "skip", REMOVED_FROM_PLAN)]
    found = ItemStatuses.read(written(tmp_path, *told))
    assert found.get("a") is None
    assert found.count_by_status() == {"success": 1, "skip": 0, "failure": 0}
    found = ItemStatuses.read(written(tmp_path, *told, CONFIG, row("a", "success")))
    assert found.count_by_status() == {"success": 2, "skip": 0, "failure": 0}


def test_a_skip_of_what_is_done_points_to_the_row_of_what_was_done(tmp_path: Path) -> None:
    path = written(
        tmp_path, CONFIG, row("a", "success"), UNFINGERPRINTED, row("a", "skip", UNCHANGED), row("a", "failure")
    )
    success, _, failure = [line.offset for line, found in read_rows(path) if not found.is_config]
    found = ItemStatuses.read(path).get("a")
    assert found is not None
    assert (found.made, found.latest, found.is_fingerprinted) == (success, failure, True)


def test_what_was_made_last_is_what_counts_and_how(tmp_path: Path) -> None:
    path = written(tmp_path, CONFIG, row("a", "success"), UNFINGERPRINTED, row("a", "success"))
    found = ItemStatuses.read(path).get("a")
    assert found is not None
    assert (found.made, found.is_fingerprinted) == (found.latest, False)


def test_items_are_counted_once_however_many_rows_they_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_status, "_BATCH", 3)
    told = [CONFIG, *(row(str(number), "failure" if number % 3 else "success") for number in range(10))]
    found = ItemStatuses.read(written(tmp_path, *told, CONFIG, row("1", "success", warnings=["careful"])))
    assert found.count_by_status() == {"success": 5, "skip": 0, "failure": 5}
    assert found.count_by_category() == {"io": 5}
    assert found.count_items_with_warnings() == 1
    assert [one.doc_id for one in found.failures()] == ["2", "4", "5", "7", "8"]
    assert [one.doc_id for one in found.successes()] == ["0", "3", "6", "9", "1"]
    assert found.get("10") is None


def test_the_reasons_of_resume_are_those_that_are_recognised() -> None:
    for reason in SATISFIED_REASONS:
        assert manifests.ManifestRow(stage="s", doc_id="a", status="skip", reason=reason).is_satisfied
    assert not manifests.ManifestRow(stage="s", doc_id="a", status="skip", reason="as I like it").is_satisfied
    assert not manifests.ManifestRow(stage="s", doc_id="a", status="failure", reason=UNCHANGED).is_satisfied


def test_a_line_without_an_end_is_no_row_yet(tmp_path: Path) -> None:
    path = written(tmp_path, CONFIG, row("a", "success"))
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole + whole[:-1])
    assert len(list(read_rows(path))) == 3
    assert list(read_lines(str(tmp_path / "no.jsonl"))) == []


def test_a_line_that_makes_no_sense_is_passed_over_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path, CONFIG, row("a", "success"))
    Path(path).write_bytes(b'\xff\n[]\n{"stage":1}\n\n' + Path(path).read_bytes())
    assert [line.row is None for line in read_lines(path)] == [True] * 4 + [False] * 2
    assert ItemStatuses.read(path).damaged == 4


def test_what_a_stage_adds_to_its_rows_is_not_taken_for_ours(tmp_path: Path) -> None:
    odd = row("a", "success") | {"run_id": 7, "options": "none", "origin": ["here"], "extra_seq": "x"}
    path = written(tmp_path, CONFIG, odd)
    assert [found.doc_id for _, found in read_rows(path)] == ["__config__", "a"]


def test_the_latest_run_is_found(tmp_path: Path) -> None:
    first, second = CONFIG | {"run_id": "one"}, CONFIG | {"run_id": "two"}
    told = [first, row("a", "success"), second, row("b", "success", reason="x" * 100), row("__config__", "failure")]
    path = written(tmp_path, *told)
    found = find_last_run(path)
    assert found is not None
    assert (found[0], found[1].run_id) == (list(read_lines(path))[2].offset, "two")
    alone = find_last_run(written(tmp_path, first))
    assert alone is not None
    assert (alone[0], alone[1].run_id) == (0, "one")
    assert find_last_run(written(tmp_path, row("a", "success"))) is None
    assert find_last_run(str(tmp_path / "no.jsonl")) is None


def test_failures_come_in_the_order_in_which_they_happened_last(tmp_path: Path) -> None:
    path = written(
        tmp_path, CONFIG, row("a", "failure"), row("c", "failure"), row("b", "failure"), CONFIG, row("a", "failure")
    )
    assert [found.doc_id for found in ItemStatuses.read(path).failures()] == ["c", "b", "a"]
