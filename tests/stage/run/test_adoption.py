"""Results that are computed behind a slow item survive a crash: they are adopted, not computed again."""

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import inorder
from inorder.host.filesystem import SystemFilesystem
from inorder.runtime.result_log import ResultLog, ResultRecord
from inorder.stage.context import StageContext
from inorder.stage.files.file_stat import FileStat
from inorder.stage.fingerprints import hash_file
from inorder.stage.staged_results import StageResultCodec
from inorder.stage.worker import StageResult, StageTask
from tests.stage.jobs import STAGE, Place
from tests.stage.lives import Lives, portable
from tests.stage.workers import obey, shout
from tests.support.gates import Gate

pytestmark = pytest.mark.req("JRN-8")

BEHIND = 40


def names(count: int) -> list[str]:
    return ["item-0000!", *(f"item-{number:04}" for number in range(1, count))]


class Crashed(BaseException):
    """Stands in for the end of the process."""


def crash_behind_head(
    place: Place,
    items: list[inorder.WorkItem],
    monkeypatch: pytest.MonkeyPatch,
    worker: Callable[..., Any] = obey,
    not_logged: int = 1,
    is_lazy: bool = False,
    **options: Any,
) -> None:
    """Run until all items but the first have a result, then end without committing anything. `not_logged` counts the
    results that are not kept, including that of the first."""
    log = ResultLog.append
    logged = 0

    def count(self: ResultLog, frames: Any, last_seq: int) -> None:
        nonlocal logged
        log(self, frames, last_seq)
        logged += len(frames)
        if logged >= len(items) - not_logged:
            raise Crashed

    with Gate() as gate, monkeypatch.context() as patch:
        patch.setattr(ResultLog, "append", count)

        def hold_head(item: inorder.WorkItem, ctx: StageContext) -> Any:
            if item.item_id == items[0].item_id:
                gate.hold()
                raise AssertionError("the run is over")
            return worker(item, ctx)

        with pytest.raises(Crashed):
            place.run(iter(items) if is_lazy else items, hold_head, cancel_grace_s=0, **options)
    place.called()


def segments(place: Place) -> list[Path]:
    return sorted((place.data / ".staging" / STAGE).glob("*.results"))


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_after_a_kill_behind_a_slow_item_only_that_item_runs_again(
    place: Place, tmp_path_factory: pytest.TempPathFactory, policy: str
) -> None:
    undisturbed = Place(tmp_path_factory.mktemp("undisturbed"))
    Lives(undisturbed).live(names(300), "", policy)
    lives = Lives(place)
    called, _ = lives.live(names(300), "logged:299", policy)
    behind = [f"item-{number:04}" for number in range(1, 300)]
    assert sorted({*called} - {"item-0000"}) == behind, "the worker of the slow item may not have begun with it"
    assert place.published() == {}
    called, outcome = lives.live(names(300), "", policy)
    assert called == ["item-0000"]
    assert outcome is not None
    assert (outcome["succeeded"], outcome["adopted"], outcome["resumed_at"]) == (300, 299, 0)
    assert portable(place) == portable(undisturbed)
    assert place.published() == undisturbed.published()
    assert place.staged() == []


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_what_was_adopted_survives_the_next_kill_too(place: Place, policy: str) -> None:
    lives = Lives(place)
    lives.live(names(300), "logged:100", policy)
    lives.live(names(300), "logged:100", policy)
    called, outcome = lives.live(names(300), "", policy)
    assert outcome is not None
    assert outcome["adopted"] >= 200
    assert len(called) == len(set(called)) == 300 - outcome["adopted"]
    assert set(place.statuses().values()) == {"success"}
    assert place.staged() == []


@pytest.mark.process
@pytest.mark.parametrize("death", ["published:100", "appended:1"])
def test_a_kill_while_they_are_published_costs_none_of_them(place: Place, death: str) -> None:
    lives = Lives(place)
    lives.live(names(200), "logged:199", "io")
    called, _ = lives.live([name.rstrip("!") for name in names(200)], death, "io")
    assert called == ["item-0000"]
    called, outcome = lives.live(names(200), "", "io")
    assert outcome is not None
    assert (called, outcome["succeeded"]) == ([], 200)
    assert outcome["adopted"] == 200 - (outcome["resumed_at"] or 0)
    assert all(place.loud(f"item-{number:04}") for number in range(200))
    assert place.staged() == []


@pytest.mark.slow
def test_a_resumed_run_says_how_many_results_it_adopted(
    place: Place, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    items = place.items(BEHIND + 1)
    crash_behind_head(place, items, monkeypatch)
    outcome = place.run(items, progress="lines")
    assert (outcome.adopted, outcome.succeeded, outcome.resumed_at) == (BEHIND, BEHIND + 1, 0)
    assert place.called() == ["item-0000"]
    telemetry = place.telemetry(outcome)
    started = [(line["resumed_at"], line["staged_results"]) for line in telemetry if line["event"] == "run_started"]
    assert started == [(0, BEHIND)]
    assert [line["items_adopted"] for line in telemetry if line["event"] == "snapshot"][-1] == BEHIND
    assert f"{BEHIND} results of the interrupted run are taken over" in capfd.readouterr().err


def test_an_adopted_result_is_complete(place: Place) -> None:
    """A new field of `StageResult` must be stored, too."""
    filesystem = SystemFilesystem()
    staging = place.data / ".staging" / STAGE
    staging.mkdir(parents=True)
    (staging / "1-0-a.txt").write_bytes(b"loud")
    item = place.item("a")
    source = str(item.inputs["text"])
    known: dict[str, Any] = {
        "value": {"letters": 4},
        "outputs": [("loud/a.txt", 4, zlib.crc32(b"loud"))],
        "staged": [f"{staging}/1-0-a.txt"],
        "input_sha256": "ab",
        "inputs": [(source, FileStat.read(source), hash_file(source))],
        "warnings": ["odd"],
        "removals": ["old.txt"],
        "delivery": b"rows",
        "measures": {"pages": 3, "provider": "x"},
        "input_bytes": 10,
        "fields": {"prepared": True},
    }
    assert known.keys() == {*StageResult._fields}
    result = StageResult(**known)
    codec = StageResultCodec(filesystem, str(place.data), str(staging), fingerprinting=False)
    task = StageTask(item)
    encoded = codec.encode(task, result)
    assert encoded is not None
    payload = msgspec.Raw(msgspec.msgpack.encode(encoded.payload))
    record = ResultRecord(0, 1, 0, b"", 3, 1.0, 0.0, encoded.files, payload)
    decoded = codec.decode(task, record)
    assert decoded is not None
    read = [(path, stat._replace(read_ns=0), digest) for path, stat, digest in decoded.payload.inputs]
    expected = [(path, stat._replace(read_ns=0), digest) for path, stat, digest in result.inputs]
    assert decoded.payload._replace(inputs=read) == result._replace(inputs=expected)


def test_a_run_that_ended_leaves_nothing_to_adopt(place: Place) -> None:
    items = place.items(5)
    assert place.run(items).adopted == 0
    assert place.run(items, force=True).adopted == 0
    assert place.staged() == []


@pytest.mark.slow
def test_an_input_that_changed_since_makes_its_item_run_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    items = place.items(BEHIND + 1)
    crash_behind_head(place, items, monkeypatch)
    place.source("item-0007", "something else\n")
    outcome = place.run(items)
    assert place.called() == ["item-0000", "item-0007"]
    assert (outcome.adopted, outcome.resumed_at) == (BEHIND - 1, 0)
    assert place.loud("item-0007") == "SOMETHING ELSE\n"


@pytest.mark.parametrize("fingerprinting", [True, False])
def test_an_input_without_a_hash_is_trusted_only_if_its_stat_proves_it(
    place: Place, monkeypatch: pytest.MonkeyPatch, fingerprinting: bool
) -> None:
    """The sources were written a moment before they were read: another write could have left the same times."""
    items = [place.item(f"item-{number:04}") for number in range(4)]
    crash_behind_head(place, items, monkeypatch, fingerprinting=fingerprinting)
    assert place.run(items, fingerprinting=fingerprinting).adopted == (3 if fingerprinting else 0)


@pytest.mark.parametrize("is_lazy", [True, False])
def test_an_item_with_another_configuration_runs_again(
    place: Place, monkeypatch: pytest.MonkeyPatch, is_lazy: bool
) -> None:
    def make_items(cfg_hash: str) -> list[inorder.WorkItem]:
        return [place.item(f"item-{number:04}", cfg_hash=cfg_hash if number == 3 else "1") for number in range(6)]

    crash_behind_head(place, make_items("1"), monkeypatch, is_lazy=is_lazy)
    items = make_items("2")
    outcome = place.run(iter(items) if is_lazy else items)
    if is_lazy:
        assert place.called() == ["item-0000", "item-0003"]
        assert outcome.adopted == 4
    else:  # a list is one plan, and this is another one
        assert len(place.called()) == 6
        assert outcome.adopted == 0
    assert place.staged() == []


@pytest.mark.parametrize("options", [{"force": True}, {"resume": False}])
def test_a_run_that_does_not_resume_adopts_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    items = place.items(6)
    crash_behind_head(place, items, monkeypatch)
    assert place.run(items, **options).adopted == 0
    assert len(place.called()) == 6


def truncate_one_file(place: Place) -> None:
    path = next((place.data / ".staging" / STAGE).glob("*-item-0003.txt"))
    path.write_bytes(path.read_bytes()[:-1])


def change_one_byte(place: Place) -> None:
    path = next((place.data / ".staging" / STAGE).glob("*-item-0003.txt"))
    path.write_bytes(b"x" + path.read_bytes()[1:])


def remove_one_file(place: Place) -> None:
    next((place.data / ".staging" / STAGE).glob("*-item-0003.txt.fp.json")).unlink()


@pytest.mark.parametrize("damage", [truncate_one_file, change_one_byte, remove_one_file])
def test_a_damaged_file_in_staging_is_computed_again(
    place: Place, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Place], None]
) -> None:
    items = place.items(6)
    crash_behind_head(place, items, monkeypatch)
    damage(place)
    outcome = place.run(items)
    assert place.called() == ["item-0000", "item-0003"]
    assert (outcome.adopted, outcome.succeeded) == (4, 6)
    assert place.loud("item-0003") == "TEXT OF ITEM-0003\n"


def test_whatever_bytes_of_the_log_are_lost_no_wrong_result_is_adopted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = place.items(4)
    crash_behind_head(place, items, monkeypatch)
    [segment] = segments(place)
    data = segment.read_bytes()
    segment.write_bytes(data[: len(data) - 5])  # the last of three records
    assert place.run(items).adopted == 2
    for number in range(4):
        assert place.loud(f"item-{number:04}") == f"TEXT OF ITEM-{number:04}\n"


@pytest.mark.parametrize("position", [0, 5, 60, 300])
def test_a_flipped_byte_in_the_log_ends_what_is_believed(
    place: Place, monkeypatch: pytest.MonkeyPatch, position: int
) -> None:
    items = place.items(4)
    crash_behind_head(place, items, monkeypatch)
    [segment] = segments(place)
    data = bytearray(segment.read_bytes())
    data[position] ^= 0x40
    segment.write_bytes(data)
    outcome = place.run(items)
    assert outcome.adopted < 3
    assert outcome.succeeded == 4
    assert place.loud("item-0001") == "TEXT OF ITEM-0001\n"


def test_retries_of_an_adopted_result_are_counted_as_without_the_crash(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [place.item("head"), place.item("flaky", "flaky", meta={"failures": 2}), place.item("last")]
    crash_behind_head(place, items, monkeypatch, retries=3)
    outcome = place.run(items, retries=3)
    assert outcome.adopted == 2
    assert [place.row(name)["attempts"] for name in ("head", "flaky", "last")] == [1, 3, 1]


def test_an_item_that_a_worker_skipped_is_adopted_with_its_reason(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [place.item("head"), place.item("skipped", "skip")]
    crash_behind_head(place, items, monkeypatch)
    outcome = place.run(items)
    assert (outcome.adopted, outcome.skipped) == (1, 1)
    assert (place.row("skipped")["reason"], place.row("skipped")["pages"]) == ("not wanted", 3)


def test_a_failure_behind_the_head_is_computed_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [place.item("head"), place.item("bad", "fail"), *place.items(4)]
    crash_behind_head(place, items, monkeypatch, not_logged=2)
    outcome = place.run(items)
    assert place.called() == ["bad", "head"]
    assert (outcome.adopted, outcome.failed) == (4, 1)


@pytest.mark.parametrize(
    ("value", "is_adopted"),
    [({"rows": [1, 2.5, None, "x", b"y", True]}, True), ((1, 2), False), ({1: 2}, False), ({1, 2}, False)],
)
def test_only_plain_deliveries_are_adopted(
    place: Place, monkeypatch: pytest.MonkeyPatch, value: Any, is_adopted: bool
) -> None:
    def deliver(item: inorder.WorkItem, ctx: StageContext) -> Any:
        ctx.deliver(value if item.item_id == "odd" else "plain")
        return shout(item, ctx)

    items = [place.item("head"), place.item("odd"), place.item("last")]
    crash_behind_head(place, items, monkeypatch, deliver, not_logged=1 if is_adopted else 2)
    assert place.run(items, deliver).adopted == (2 if is_adopted else 1)


@pytest.mark.slow
def test_the_log_of_a_long_run_stays_short(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inorder.runtime.result_log.SEGMENT_RECORDS_MAX", 10)
    seen: list[int] = []
    start = ResultLog._start_segment

    def count(self: ResultLog) -> None:
        start(self)
        seen.append(len(segments(place)))

    monkeypatch.setattr(ResultLog, "_start_segment", count)
    items = [inorder.WorkItem(item_id=f"{number}") for number in range(3000)]
    assert place.run(items, lambda item: None, workers=1).succeeded == 3000
    assert len(seen) > 10
    assert seen[-1] < len(seen), "segments were removed on the way"
    assert json.dumps(place.staged()) == "[]"
