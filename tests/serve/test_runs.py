"""Runs: the report as data, the list of runs, and the stream that a live page follows."""

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.testclient import TestClient
from starlette.types import Message

from inorder.host.liveness import is_held
from inorder.host.lock import Lock
from inorder.serve import live
from inorder.serve.api.runs import LiveStreams
from inorder.serve.catalog import Catalog
from inorder.serve.live import LiveFeed
from inorder.serve.options import STREAMS_MAX
from inorder.serve.request_metrics import RequestMetrics
from tests.serve.site import Site

pytestmark = pytest.mark.req("VIS-2")


class LiveRun:
    """The telemetry of a run that is under way, written by hand."""

    def __init__(self, data: Path) -> None:
        self.data = data
        for folder in ("telemetry", "locks", "manifests", "journal"):
            (data / folder).mkdir(exist_ok=True)
        (data / "manifests" / "count.jsonl").touch()
        self.lock: Lock | None = None

    def start(self, run_id: str) -> None:
        self.lock = Lock(str(self.data / "locks" / "count.lock"), "stage count")
        self.file = self.data / "telemetry" / f"{run_id}.jsonl"
        self.emit("run_started", stage="count", run_id=run_id, resumed_at=None, staged_results=0)

    def emit(self, event: str, **fields: Any) -> None:
        with self.file.open("a") as file:
            file.write(json.dumps({"time": int(time.time() * 1000), "event": event, **fields}) + "\n")

    def advance(self, done: int) -> None:
        gauges = ("max_seen_seq", "buffered_bytes", "resident_bytes", "active_workers", "items_skipped", "items_failed")
        counts = {"items_total": 10, "items_succeeded": done, "next_commit_seq": done, "items_per_s": 2.0}
        self.emit("snapshot", **counts, **dict.fromkeys(gauges, 0), head={"item_id": "slow.txt"})

    def end(self) -> None:
        outcome = {"was_cancelled": False, "failed": 0, "wall_ms": 5.0, "items_per_s": 2.0, "scheduled": 10}
        self.emit("run_ended", outcome=outcome)
        self.release()

    def release(self) -> None:
        assert self.lock is not None
        self.lock.release()


def test_a_lock_is_seen_without_taking_it(tmp_path: Path) -> None:
    path = str(tmp_path / "x.lock")
    assert not is_held(path)
    lock = Lock(path, "x")
    assert is_held(path)
    lock.release()
    assert not is_held(path)


def test_a_run_is_followed_from_its_start_to_its_end_and_into_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "_PROGRESS_S", 0.0)
    monkeypatch.setattr(live, "_REPORT_S_MIN", 0.0)
    run, feed = LiveRun(tmp_path), LiveFeed(str(tmp_path))
    assert feed.read_progress() == []
    versions = [feed.read_report().version]
    run.start("r1")
    run.advance(4)
    [stage] = feed.read_progress()
    assert (stage.state, stage.done, stage.total, stage.eta_s, stage.waiting_for) == ("running", 4, 10, 3.0, "slow.txt")
    report = feed.read_report()
    versions.append(report.version)
    assert "state-running" in report.html
    run.end()
    assert [stage.state for stage in feed.read_progress()] == ["finished"]
    versions.append(feed.read_report().version)
    assert feed.read_report().version == versions[-1], "a run that has ended is not read again"
    run.start("r2")
    [stage] = feed.read_progress()
    assert (stage.run_id, stage.state) == ("r2", "running")
    versions.append(feed.read_report().version)
    run.release()
    assert [stage.state for stage in feed.read_progress()] == ["killed"]
    versions.append(feed.read_report().version)
    assert versions == sorted(set(versions))


@pytest.mark.slow
def test_a_run_that_found_nothing_to_do_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_PROGRESS_S", 0.0)
    site = Site(tmp_path)
    site.write(**{"note.md": "# Lamps\n\nOil.\n"})
    site.read_docs()
    feed = LiveFeed(str(site.data))
    first = feed.read_report()
    assert "1 file: 1 new." in first.html
    site.read_docs()
    second = feed.read_report()
    assert (second.version, "1 file: 1 unchanged." in second.html) == (first.version + 1, True)
    assert feed.read_report().version == second.version


def test_a_report_is_read_again_only_as_often_as_it_costs_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [0.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now_s[0])
    run, feed = LiveRun(tmp_path), LiveFeed(str(tmp_path))
    run.start("r1")
    make = live.make_live_report

    def make_slowly(*arguments: Any, **options: Any) -> Any:
        now_s[0] += 0.1
        return make(*arguments, **options)

    monkeypatch.setattr(live, "make_live_report", make_slowly)
    assert feed.read_report().version == 1
    now_s[0] = 9.9
    assert feed.read_report().version == 1, "0.1 s of work are 1 % of 10 s"
    now_s[0] = 10.1
    assert feed.read_report().version == 2
    run.release()


def collect_events(streams: LiveStreams, query: bytes, count: int) -> list[tuple[str, Any]]:
    """The first events of a stream."""

    async def collect() -> list[tuple[str, Any]]:
        scope = {"type": "http", "method": "GET", "path": "/api/live", "headers": [], "query_string": query}
        response: Any = await streams.answer(Request(scope))
        events = []
        async for part in response.body_iterator:
            name, data = part.decode().rstrip().split("\n")
            events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
            if len(events) == count:
                break
        await response.body_iterator.aclose()
        return events

    return anyio.run(collect)


def test_a_stream_sends_progress_and_the_report(site: Site) -> None:
    metrics = RequestMetrics()
    streams = LiveStreams(Catalog([str(site.data)]), metrics)
    (first, stages), (second, report) = collect_events(streams, b"", 2)
    assert (first, second) == ("progress", "report")
    assert [(stage["stage"], stage["unit"]) for stage in stages] == [("run", "file")]
    assert "<script" not in report["html"]
    assert {"run_id", "series"} == report["runs"][0].keys()


def test_a_chosen_run_is_sent_once(site: Site, client: TestClient) -> None:
    runs = client.get("/api/runs").json()["runs"]
    streams = LiveStreams(Catalog([str(site.data)]), RequestMetrics())
    events = collect_events(streams, f"run={runs[0]['run_id']}".encode(), 2)
    assert [name for name, _ in events] == ["report", "end"]
    [(name, problem)] = collect_events(streams, b"run=nothing", 1)
    assert name == "problem"
    assert "'nothing' is not in DATA" in problem["error"]


def test_too_many_streams_are_refused(site: Site) -> None:
    metrics = RequestMetrics()
    metrics.streams = STREAMS_MAX
    streams = LiveStreams(Catalog([str(site.data)]), metrics)
    scope = {"type": "http", "method": "GET", "path": "/api/live", "headers": [], "query_string": b""}
    assert anyio.run(streams.answer, Request(scope)).status_code == 503


def test_pages_that_ask_at_once_are_counted_before_they_get_anything(site: Site) -> None:
    metrics = RequestMetrics()
    streams = LiveStreams(Catalog([str(site.data)]), metrics)
    scope = {"type": "http", "method": "GET", "path": "/api/live", "headers": [], "query_string": b""}

    async def refuse(message: Message) -> None:
        raise OSError("the client is gone")

    async def receive() -> Message:
        return await anyio.Event().wait()  # type: ignore[return-value]

    async def ask() -> None:
        answers = [await streams.answer(Request(scope)) for _ in range(STREAMS_MAX + 16)]
        assert [answer.status_code for answer in answers] == [200] * STREAMS_MAX + [503] * 16
        assert metrics.streams == STREAMS_MAX
        for answer in answers[:STREAMS_MAX]:
            with suppress(OSError, ExceptionGroup):
                await answer(scope, receive, refuse)

    anyio.run(ask)
    assert metrics.streams == 0


def test_the_report_is_available_as_data(client: TestClient) -> None:
    found = client.get("/api/report").json()
    [run] = found["runs"]
    assert (run["stage"], run["files"]["counts"]["new"]) == ("run", 5)
    assert found["verdict"]["level"] == "good"
    assert "5 files: 5 new" in found["verdict"]["sentence"]
    listed = client.get("/api/runs").json()
    assert listed["total"] == 1
    assert client.get("/api/report", params={"run": "a,b,c"}).status_code == 400
    assert client.get("/api/report", params={"run": listed["runs"][0]["run_id"]}).json()["runs"][0]["is_latest"]
