"""The numbers of a report against runs whose numbers are known, through the command line."""

import json

import pytest

from inorder.report import trace as trace_module
from tests.report.reading import report_of
from tests.support.command_line import CommandLine

pytestmark = [pytest.mark.req("VIS-1"), pytest.mark.process]


def list_run_ids(cli: CommandLine) -> list[str]:
    return [row["run_id"] for row in cli.lines() if row["status"] == "config"]


def test_items_that_are_up_to_date_are_skipped_for_that_reason(cli: CommandLine) -> None:
    cli.sources("one", "two")
    cli.stage_in_process("count")
    cli.source("0.txt", "another input")
    cli.stage_in_process("count")
    [run] = report_of(cli)["runs"]
    assert run["skips"]["rows"] == [{"text": "up to date", "count": 1, "example": "1.txt"}]


def test_two_runs_are_compared_item_by_item(cli: CommandLine) -> None:
    cli.sources("one", "fail input", "three")
    cli.stage_in_process("count")
    cli.source("1.txt", "mended")
    cli.source("2.txt", "fail io")
    cli.source("3.txt", "fail input")
    cli.stage_in_process("count", "--force")
    first, second = list_run_ids(cli)
    found = report_of(cli, "--run", first, "--run", second)
    compared = found["comparison"]
    assert (compared["before"], compared["after"], compared["compared"]) == (first, second, 1)
    assert [row["item_id"] for row in compared["new_failures"]] == ["2.txt", "3.txt"]
    assert compared["fixed"] == ["1.txt"]
    values = {delta["name"]: (delta["before"], delta["after"]) for delta in compared["deltas"]}
    assert values["items"] == (3.0, 4.0)
    assert values["failed"] == (1.0, 2.0)
    assert "2 new failures, 1 fixed" in found["verdict"]["sentence"]
    result = cli.run("report", "--run", first, "--run", second)
    assert "Comparison of count" in (cli.folder / result.out.strip()).read_text(encoding="utf-8")


def test_retries_are_marks_on_the_time_axis(cli: CommandLine) -> None:
    cli.sources("one", "flaky 2", "three")
    cli.stage("count", "--policy", "cpu", "--workers", "1", "--retries", "1", "--set", "retry_backoff_s=0")
    [run] = report_of(cli)["runs"]
    assert run["mark_counts"]["retry"] == 1
    [mark] = run["marks"]
    assert "ConnectionError: not yet" in mark["text"]
    assert 0 <= mark["at_ms"] <= run["active_ms"]


def test_lost_workers_are_marks_on_the_time_axis(cli: CommandLine) -> None:
    cli.sources("one", "die", "three")
    cli.stage("count", "--policy", "cpu", "--workers", "1", "--set", "retry_backoff_s=0")
    [run] = report_of(cli)["runs"]
    assert run["mark_counts"]["lost"] >= 1
    assert any("SIGKILL" in mark["text"] for mark in run["marks"])
    assert [row["item_id"] for row in run["failures"]["rows"]] == ["1.txt"]
    assert all(0 <= mark["at_ms"] <= run["active_ms"] for mark in run["marks"])


def test_the_charts_end_with_every_item_committed(cli: CommandLine) -> None:
    cli.sources(*["one"] * 12)
    cli.stage_in_process("count", "--workers", "2")
    [run] = report_of(cli)["runs"]
    series = run["series"]
    assert (series["committed"][-1], series["computed"][-1]) == (12, 12)
    assert series["at_ms"] == sorted(series["at_ms"])
    assert {len(series[name]) for name in series if name != "seen"} == {len(series["at_ms"])}
    assert sum(count for _, _, count in run["heat_map"]["cells"]) == 12
    assert sum(row["items"] for row in run["worker_timeline"]["rows"]) == 12
    [execution] = [stats for stats in run["durations"] if stats["name"] == "item_exec_ms"]
    assert sum(count for _, count in execution["buckets"]) == execution["count"] == 12
    assert len(run["slowest"]) == 12
    [window] = run["windows"]
    assert (window["start"], window["end"]) == (0, 12)


def test_the_trace_has_every_attempt_if_they_were_logged(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.sources("one", "flaky 2", "three")
    cli.stage_in_process("count", "--retries", "1", "--set", "retry_backoff_s=0", "--set", "attempts_log=true")
    assert cli.run("report", "--trace", "trace.json").code == 0
    trace = json.loads((cli.folder / "trace.json").read_text())
    attempts = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert sorted((event["name"], event["args"]["status"]) for event in attempts) == [
        ("0.txt", "success"),
        ("1.txt", "failure"),
        ("1.txt", "success"),
        ("2.txt", "success"),
    ]
    counters = [event["args"] for event in trace["traceEvents"] if event["ph"] == "C" and event["name"] == "committed"]
    assert counters[-1] == {"committed": 3}
    assert {event["s"] for event in trace["traceEvents"] if event["ph"] == "i"} == {"p"}
    assert trace_module._make("i", 1, 0, "mark", 7)["ts"] == 7000, "microseconds"
    monkeypatch.setattr(trace_module, "EVENTS_MAX", 2)
    assert cli.run("report", "--trace", "short.json").code == 0
    short = json.loads((cli.folder / "short.json").read_text())
    assert [event for event in short["traceEvents"] if event["ph"] == "X"] == attempts[:2]
    assert short["otherData"]["limits"] == ["count: the first 2 attempts"]
    nowhere = cli.run("report", "--trace", "nowhere/trace.json")
    assert (nowhere.code, "choose another with --trace" in nowhere.err) == (2, True)


def test_the_size_of_the_dataset_is_that_of_its_folders(cli: CommandLine) -> None:
    cli.sources("one")
    cli.stage_in_process("count")
    dataset = report_of(cli)["dataset"]
    assert dataset["bytes_total"] == sum(path.stat().st_size for path in cli.data.rglob("*") if path.is_file())
