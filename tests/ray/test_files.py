"""Stages on nodes: inputs that a node sees, that are sent to it, and that stay with the driver."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

import inorder
from inorder.stage import file_transfer
from inorder.stage.engine import make_kernel_options
from tests.ray.machines import Machines
from tests.ray.meanwhile import Meanwhile
from tests.ray.stages import gathering, handing, placed
from tests.stage.jobs import Place, steady
from tests.support.misbehaviour import Endings, wait_until


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The result of the same items on this machine."""
    place = Place(tmp_path_factory.mktemp("local"))
    assert place.run(mixed_items(place), placed).failed == 2
    return place


def mixed_items(place: Place) -> list[inorder.WorkItem]:
    """Some items that succeed, one that is skipped, one that fails, one that has no input."""
    items = [place.item(f"item-{number:02}") for number in range(20)]
    items[3] = place.item("item-03", do="skip")
    items[7] = place.item("item-07", do="fail")
    items[11] = place.item("item-11", inputs={"text": place.sources / "missing"})
    return items


def portable(place: Place) -> str:
    """All rows of items, without what depends on the folder or the node."""
    rows = [{name: value for name, value in row.items() if name != "where"} for row in steady(place.lines()[1:])]
    return json.dumps(rows).replace(str(place.folder), "HERE")


def published(place: Place) -> dict[str, bytes]:
    """Outputs and fingerprints, without where an item ran."""
    found = place.published()
    for path, content in found.items():
        if path.endswith(".fp.json"):
            fingerprint = json.loads(content)
            fingerprint["extras"].pop("where", None)
            found[path] = json.dumps(fingerprint).encode()
    return found


def where_done(place: Place) -> dict[str, str]:
    """Where each item ran: with the driver or on a node."""
    return {name: row["where"] for name, row in place.rows().items() if "where" in row}


def on_ray(machines: Machines, **options: Any) -> dict[str, Any]:
    return {"engine": "ray", "ray": machines.options(**options)}


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write no marker file, so that no node takes DATA for visible."""
    monkeypatch.setattr(file_transfer.StageFileTransfer, "prepare", lambda self: None)


@pytest.mark.req("JRN-7")
@pytest.mark.parametrize(("files", "where"), [("shared", "seen"), ("send", "sent"), ("auto", "seen")])
def test_a_stage_on_nodes_gives_the_same_results_as_on_this_machine(
    machines: Machines, place: Place, undisturbed: Place, files: str, where: str
) -> None:
    outcome = place.run(mixed_items(place), placed, **on_ray(machines, files=files))
    assert (outcome.succeeded, outcome.skipped, outcome.failed) == (17, 1, 2)
    assert set(where_done(place).values()) == {where}
    assert portable(place) == portable(undisturbed)
    assert published(place) == published(undisturbed)
    assert place.staged() == []


def test_a_stage_that_has_run_on_nodes_has_nothing_to_do_on_this_machine(machines: Machines, place: Place) -> None:
    items = [place.item(f"item-{number:02}") for number in range(5)]
    assert place.run(items, placed, **on_ray(machines, files="send")).succeeded == 5
    again = place.run(items, placed)
    assert (again.succeeded, again.skipped) == (0, 5)


@pytest.mark.req("COM-2")
@pytest.mark.parametrize("files", ["shared", "send"])
def test_what_a_worker_on_a_node_hands_over_reaches_the_next_attempt(
    machines: Machines, place: Place, files: str
) -> None:
    """A failure has the name of the step that the node was in, and files have the stat of the driver."""
    items = [place.item("item-00", do="stumble", outputs={}), place.item("item-01", do="fail", outputs={})]
    outcome = place.run(items, handing, retries=1, **on_ray(machines, files=files))
    assert (outcome.succeeded, outcome.failed) == (1, 1)
    row = place.row("item-00")
    assert row["partial"] == {"made": "item-00"}
    assert row["inode"] == os.stat(items[0].inputs["text"]).st_ino
    assert place.row("item-01")["error"]["step"] == "second"


@pytest.mark.usefixtures("unseen")
def test_auto_sends_files_to_nodes_that_do_not_see_data(machines: Machines, place: Place, undisturbed: Place) -> None:
    place.run(mixed_items(place), placed, **on_ray(machines, files="auto"))
    assert set(where_done(place).values()) == {"sent"}
    assert portable(place) == portable(undisturbed)
    assert published(place) == published(undisturbed)


def test_an_item_that_is_too_large_or_reads_folders_runs_with_the_driver(
    machines: Machines, place: Place, undisturbed: Place
) -> None:
    items = mixed_items(place)
    (place.data / "shelf").mkdir(parents=True)
    (place.data / "shelf" / "book").write_text("a book")
    items[5] = place.item("item-05", reads=["shelf"])
    items[6] = place.item("item-06", reads=["shelf/book", "shelf/missing"])
    place.source("item-09", "text of item-09\n")
    items[9] = place.item("item-09", inputs={"text": place.source("long", "long " * 100)})
    place.run(items, placed, **on_ray(machines, files="send", send_bytes_max=400))
    assert {name for name, where in where_done(place).items() if where == "home"} == {"item-05", "item-09"}
    assert place.row("item-05")["shelf"] == place.row("item-06")["shelf"] == "a book"
    assert place.loud("item-09") == "LONG " * 100
    assert place.statuses() == undisturbed.statuses()


@pytest.mark.req("RTY-3", "RTY-4")
def test_a_local_item_that_crashes_or_hangs_fails_alone(machines: Machines, place: Place) -> None:
    items = [place.item(f"item-{number:02}") for number in range(12)]
    items[2] = place.item("item-02", do="kill")
    items[5] = place.item("item-05", do="hang")
    options = on_ray(machines, files="send", send_bytes_max=0)
    outcome = place.run(items, placed, timeout_s=3.0, **options)
    assert (outcome.succeeded, outcome.failed) == (10, 2)
    assert set(where_done(place).values()) == {"home"}
    assert "SIGKILL" in place.row("item-02")["error"]["message"]
    assert "3000 ms" in place.row("item-05")["error"]["message"]


@pytest.mark.req("LED-7")
def test_a_batch_that_waits_for_a_local_process_is_not_taken_for_lost(
    machines: Machines, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More workers have local batches than this machine has CPUs, for longer than a lease."""
    monkeypatch.setattr("inorder.engines.ray.engine.BEAT_S", 0.2)
    monkeypatch.setattr("inorder.engines.ray.channel.BEAT_S", 0.2)
    monkeypatch.setattr("inorder.engines.ray.channel.count_cpus", lambda: 1)
    monkeypatch.setattr("inorder.stage.run.make_kernel_options", short_leases)
    items = [place.item(f"item-{number:02}", meta={"seconds": 1.5}) for number in range(4)]
    options = on_ray(machines, files="send", send_bytes_max=0)
    outcome = place.run(items, placed, workers=4, **options)
    assert (outcome.succeeded, outcome.cancel_reason) == (4, None)
    assert place.called() == [f"item-{number:02}" for number in range(4)]


def short_leases(options: inorder.StageOptions, *, has_groups: bool) -> Any:
    return msgspec.structs.replace(
        make_kernel_options(options, has_groups=has_groups), lease_ms=1000, infrastructure_budget=0
    )


def test_a_node_that_sees_another_file_than_the_driver_fails_the_item_with_what_to_do(
    machines: Machines, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack_item = file_transfer.StageFileTransfer.pack_item

    def late(self: file_transfer.StageFileTransfer, item: Any, *, sees_files: bool) -> Any:
        """The file changes after the driver has looked, as if the node saw another one."""
        packed = pack_item(self, item, sees_files=sees_files)
        if item.item.item_id == "item-02":
            os.utime(item.item.inputs["text"], ns=(1, 1))
        return packed

    monkeypatch.setattr(file_transfer.StageFileTransfer, "pack_item", late)
    items = [place.item(f"item-{number:02}") for number in range(5)]
    outcome = place.run(items, placed, **on_ray(machines, files="shared"))
    assert (outcome.succeeded, outcome.failed) == (4, 1)
    said = place.row("item-02")["error"]["message"]
    assert "does not see the input" in said
    assert "--set ray_files=send" in said


@pytest.mark.req("JRN-7", "LED-7")
@pytest.mark.parametrize("files", ["shared", "send"])
def test_a_stage_that_loses_a_node_gives_the_same_results(
    machines: Machines, place: Place, undisturbed: Place, files: str
) -> None:
    doomed = machines.add(2)
    gate = place.folder / "gate"
    gate.mkdir()

    def lose() -> None:
        found: list[int] = []

        def are_there() -> bool:
            found[:] = [int(path.name.split(".")[1]) for path in gate.glob(f"{doomed.raylet}.*.here")]
            return len(found) >= 2

        assert wait_until(are_there), "no worker started on the node"
        endings = Endings(found)
        machines.lose(doomed)
        assert endings.come()
        (gate / "go").touch()

    items = [msgspec.structs.replace(item, meta={**item.meta, "gate": str(gate)}) for item in mixed_items(place)]
    with Meanwhile(lose):
        outcome = place.run(items, gathering, workers=6, **on_ray(machines, files=files))
    assert (outcome.succeeded, outcome.skipped, outcome.failed) == (17, 1, 2)
    assert portable(place) == portable(undisturbed)
    assert published(place) == published(undisturbed)
    assert place.staged() == []


@pytest.mark.req("LED-7")
@pytest.mark.parametrize("files", ["shared", "send"])
def test_a_full_disk_on_a_node_stops_the_run_and_fails_no_item(machines: Machines, place: Place, files: str) -> None:
    items = [place.item("a"), place.item("b", do="full disk", meta={"room": str(place.folder / "room")})]
    with pytest.raises(inorder.InfrastructureError, match=r"disk full.*No space left.*run the same command again"):
        place.run(items, placed, workers=1, **on_ray(machines, files=files))
    assert not any(row["status"] == "failure" for run in place.runs() for row in run)
