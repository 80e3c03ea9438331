"""The manifest of a stage: one row an item and run, in order, the same whatever the run was like."""

import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.sinks.manifest import complete_lines
from inorder.stage.manifest.rows import BASE_FIELDS, VOLATILE_FIELDS
from tests.stage.jobs import Place, steady, tree

DEEDS = ["shout", "skip", "fail", "flaky", "unreachable", "forget", "empty", "stage error"]


def mixed(place: Place) -> list[inorder.WorkItem]:
    """Items of every kind, of very different costs, in groups."""
    return [
        place.item(
            f"item-{number:03}",
            DEEDS[number % len(DEEDS)] if number % 3 == 0 else "shout",
            cost_hint=float(97 * number % 31),
            batch_key="even" if number % 2 == 0 else "odd",
        )
        for number in range(60)
    ]


def portable(place: Place, rows: Sequence[dict[str, Any]]) -> str:
    """Rows as they would be in any folder: what may differ is left out, and so is the name of the folder."""
    return json.dumps(steady(rows)).replace(str(place.folder), "HERE")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("reference"))
    place.run(mixed(place), workers=1, retries=1)
    return place


@pytest.mark.process
@pytest.mark.parametrize("schedule", ["fifo", "sjf"])
@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.req("RUN-3", "RUN-7")
def test_rows_and_outputs_are_the_same_for_any_workers_schedule_and_policy(
    place: Place, reference: Place, policy: str, workers: int, schedule: str
) -> None:
    place.run(mixed(place), policy=policy, workers=workers, schedule=schedule, retries=1)
    assert portable(place, place.runs()[0][1:]) == portable(reference, reference.runs()[0][1:])
    assert place.published() == reference.published()


@pytest.mark.slow
def test_the_reference_has_every_kind_of_row(reference: Place) -> None:
    rows = reference.rows().values()
    assert {row["status"] for row in rows} == {"success", "skip", "failure"}
    assert {row["attempts"] for row in rows} == {1, 2}
    assert {row["error"]["category"] for row in rows if row["error"]} == {"runtime", "provider", "config"}
    assert len(reference.published()) > 60


@pytest.mark.slow
@pytest.mark.req("RUN-7")
def test_rows_stand_in_seq_order_after_the_row_of_the_run(reference: Place) -> None:
    config, *rows = reference.lines()
    assert config["doc_id"] == "__config__"
    assert [row["seq"] for row in rows] == list(range(60))
    assert [row["doc_id"] for row in rows] == [f"item-{number:03}" for number in range(60)]
    assert all(list(row)[: len(BASE_FIELDS)] == list(BASE_FIELDS) for row in rows)


@pytest.mark.req("RUN-7")
def test_a_row_says_everything_about_its_item(place: Place) -> None:
    place.run([place.item("a")])
    row = place.row("a")
    assert row.pop("duration_s") >= 0
    assert len(row.pop("input_sha256")) == 64
    assert row == {
        "stage": "shout",
        "doc_id": "a",
        "status": "success",
        "input_path": str(place.sources / "a"),
        "output_paths": ["loud/a.txt"],
        "schema_version": 1,
        "seq": 0,
        "attempts": 1,
        "cfg_hash": "1",
        "reason": "",
        "error": None,
        "traceback": "",
        "warnings": [],
        "letters": 7,
    }


@pytest.mark.req("RUN-7")
def test_the_row_of_a_run_says_what_ran_where_with_which_options(place: Place) -> None:
    plan = place.plan([place.item("a")])
    outcome = inorder.run_stage(plan, print, place.options(retries=3), origin={"source": "here"})
    [config, _] = place.lines()
    assert config["run_id"] == outcome.run_id
    assert config["options"]["retries"] == 3
    assert config["options"]["data"] == str(place.data)
    assert config["origin"] == {"source": "here"}
    assert {"started_at", "host", "pid", "argv", "version"} <= config.keys()
    assert set(VOLATILE_FIELDS) - {"duration_s", "traceback"} <= config.keys()


@pytest.mark.parametrize(
    ("given", "recorded"),
    [
        ("postgresql://me:SES@AME@host/db", "postgresql://me:***@host/db"),
        ("--to=postgresql://:SESAME@host/db", "--to=postgresql://:***@host/db"),
        ("postgresql:///db?password=SESAME&port=1", "postgresql:///db?password=***&port=1"),
        ("qdrant://host:6333/x?Api_Key=SESAME", "qdrant://host:6333/x?Api_Key=***"),
        ("https://host:8080/@me/a.pdf?page=3", "https://host:8080/@me/a.pdf?page=3"),
        ("docs/a:b@c?key=d", "docs/a:b@c?key=d"),
    ],
)
def test_the_row_of_a_run_has_the_command_line_without_passwords(
    place: Place, given: str, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["inorder", "run", given])
    inorder.run_stage(place.plan([place.item("a")]), print, place.options())
    [config, _] = place.lines()
    assert config["argv"] == ["inorder", "run", recorded]


@pytest.mark.req("RUN-7")
def test_a_further_run_adds_its_rows_to_those_before(place: Place) -> None:
    path = place.data / "manifests" / "shout.jsonl"
    place.run(place.items(3))
    first = path.read_bytes()
    place.run([*place.items(3), place.item("more")])
    assert path.read_bytes().startswith(first)
    assert [[row["status"] for row in run] for run in place.runs()] == [
        ["config", *["success"] * 3],
        ["config", *["skip"] * 3, "success"],
    ]
    assert [row["seq"] for row in place.runs()[1][1:]] == [0, 1, 2, 3]


def test_a_line_that_a_crash_cut_short_is_gone_after_the_next_run(place: Place) -> None:
    place.run(place.items(2))
    path = place.data / "manifests" / "shout.jsonl"
    path.write_bytes(path.read_bytes() + b'{"stage":"sho')
    place.run(place.items(2))
    assert [len(run) for run in place.runs()] == [3, 3]


@pytest.mark.slow
def test_two_places_differ_in_nothing_but_what_is_called_volatile(place: Place, tmp_path_factory: Any) -> None:
    other = Place(tmp_path_factory.mktemp("other"))
    for one in (place, other):
        one.run(mixed(one), retries=1)
    assert portable(place, place.lines()) == portable(other, other.lines())
    differing = {
        field
        for mine, theirs in zip(place.lines(), other.lines(), strict=True)
        for field in mine
        if json.dumps(mine[field]).replace(str(place.folder), "")
        != json.dumps(theirs[field]).replace(str(other.folder), "")
    }
    assert differing <= set(VOLATILE_FIELDS)
    assert {"duration_s", "run_id"} <= differing


@pytest.mark.slow
@pytest.mark.req("RUN-7")
def test_readers_never_see_a_torn_line(place: Place) -> None:
    """A thousand of them, while rows are added: whatever ends with a newline is a whole row, in its place."""
    path = place.data / "manifests" / "shout.jsonl"
    is_over = threading.Event()
    reads: list[int] = []

    def read() -> None:
        while not is_over.is_set() or len(reads) < 1000:
            rows = [json.loads(line) for line in complete_lines(path.read_bytes())] if path.exists() else []
            assert [row["seq"] for row in rows[1:]] == list(range(len(rows[1:])))
            reads.append(len(rows))

    with ThreadPoolExecutor(8) as readers:
        done = [readers.submit(read) for _ in range(8)]
        place.run([inorder.WorkItem(item_id=str(number)) for number in range(1500)], lambda item: None)
        is_over.set()
    for each in done:
        each.result()
    assert len(set(reads)) > 2
    assert max(reads) == 1501


def test_nothing_is_left_in_data_but_what_is_documented(reference: Place) -> None:
    own = {Path(path).parts[0] for path in tree(reference.data)} - {"loud"}
    assert own - {"cache"} == {"manifests", "journal", "locks", "telemetry"}
