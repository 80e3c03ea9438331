"""A simulated cluster: the real kernel with nodes that are lost, cut off or slow."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from bench.cluster.__main__ import draw_report, main
from bench.cluster.books import ClusterBooks
from bench.cluster.options import ClusterOptions
from bench.cluster.run import ClusterReport, Sample, run_cluster
from inorder.core.commands import CommitRun, Dispatch
from inorder.core.events import Committed, Envelope, Finished
from inorder.core.pressure import Pressure
from inorder.core.transitions import State
from inorder.errors import OperatorError
from inorder.sim.referee import PromiseBroken

CALM: dict[str, Any] = {
    "workers": 40,
    "nodes": 8,
    "items": 2000,
    "item_ms": 200.0,
    "item_sigma": 0.5,
    "straggler_share": 0.0,
    "slow_nodes": 0,
    "node_losses": 0,
    "silent_nodes": 0,
    "detect_ms": 200,
    "startup_ms": 2000,
    "lease_ms": 1000,
}
"""Ten seconds in which nothing happens."""
STORMY = CALM | {"straggler_share": 0.002, "slow_nodes": 1, "node_losses": 3, "silent_nodes": 1}
SMALL = ["--workers=8", "--nodes=4", "--items=200", "--item-ms=20", "--node-losses=1", "--silent-nodes=0"]


def simulate(**changes: Any) -> ClusterReport:
    report = run_cluster(ClusterOptions(**CALM | changes))
    assert report.broken_promise is None
    return report


def mean_utilisation(samples: Sequence[Sample], from_ms: float, to_ms: float) -> float:
    chosen = [sample.utilisation for sample in samples if from_ms <= sample.at_ms <= to_ms]
    return sum(chosen) / len(chosen)


# ---- what is promised


@pytest.mark.slow
@pytest.mark.req("LED-6", "LED-7", "COM-2")
@pytest.mark.parametrize("seed", range(4))
def test_every_seq_is_committed_once_and_in_order_while_nodes_are_lost(seed: int) -> None:
    report = simulate(**STORMY, seed=seed)
    assert report.committed == 2000
    assert report.stop is None
    assert report.faults["lost node"] == 3
    assert report.statistics.reclaims > report.statistics.returns


@pytest.mark.slow
@pytest.mark.req("LED-4", "LED-7")
def test_what_a_silent_node_answers_too_late_is_refused() -> None:
    report = simulate(silent_nodes=1)
    assert report.faults["silent node"] == 1
    assert report.statistics.expired_leases > 0
    assert report.refused == report.statistics.refused > 0
    assert report.committed == 2000


@pytest.mark.slow
def test_a_silence_shorter_than_a_lease_costs_nobody_anything() -> None:
    def cut_off_briefly(lease_ms: int) -> ClusterReport:
        # A node is silent for two leases of the cluster; here the kernel is the more patient one.
        options = ClusterOptions(**CALM | {"silent_nodes": 1, "lease_ms": 300})
        kernel = msgspec.structs.replace(options.kernel(), lease_ms=lease_ms)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ClusterOptions, "kernel", lambda self: kernel)
            return run_cluster(options)

    assert cut_off_briefly(300).statistics.expired_leases > 0
    patient = cut_off_briefly(5000)
    assert patient.statistics.expired_leases == patient.refused == 0
    assert patient.committed == 2000


@pytest.mark.slow
@pytest.mark.req("LED-7")
def test_a_lost_node_costs_the_infrastructure_budget_one() -> None:
    assert simulate(node_losses=1, infrastructure_budget=1).stop is None
    stopped = simulate(node_losses=1, infrastructure_budget=0)
    assert stopped.stop is not None
    assert "infrastructure budget of 0 used up" in stopped.stop
    assert 0 < stopped.committed < 2000


@pytest.mark.slow
@pytest.mark.req("CMP-5")
def test_idle_workers_get_what_busy_ones_have_not_started() -> None:
    report = simulate(item_ms=20.0, straggler_share=0.01)
    assert report.statistics.returns > 0
    assert report.statistics.returns == report.faults["taken back"]


@pytest.mark.slow
@pytest.mark.req("BPR-1", "BPR-3")
def test_the_byte_budget_holds_however_small() -> None:
    report = simulate(result_kb=64.0, buffered_mb=4, items=1000, straggler_share=0.01)
    assert report.statistics.slowed_dispatches > 0
    assert 3 * 2**20 < report.used_bytes_max < 5 * 2**20
    assert report.committed == 1000


def test_a_pressure_that_does_not_hold_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pressure, "observe", lambda self, now_ms, values: False)
    options = ClusterOptions(**CALM | {"result_kb": 64.0, "buffered_mb": 1, "items": 1000, "straggler_share": 0.01})
    broken_promise = run_cluster(options).broken_promise
    assert broken_promise is not None
    assert broken_promise.startswith("the byte budget is held")


# ---- what it shows


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run() -> None:
    encode = msgspec.json.encode
    first = encode(run_cluster(ClusterOptions(**STORMY)))
    assert encode(run_cluster(ClusterOptions(**STORMY))) == first
    assert encode(run_cluster(ClusterOptions(**STORMY | {"seed": 2})).samples) not in first


@pytest.mark.slow
def test_utilisation_sinks_when_nodes_are_lost_and_recovers_when_others_join() -> None:
    report = simulate(rack_nodes=4, items=4000)
    lost_ms = next(at_ms for at_ms, kind in report.moments if kind == "lost")
    joined_ms = next(at_ms for at_ms, kind in report.moments if kind == "joined")
    assert lost_ms == report.options.expected_ms / 2
    assert joined_ms == lost_ms + 2200
    assert mean_utilisation(report.samples, 500, lost_ms) > 0.9
    assert mean_utilisation(report.samples, lost_ms + 300, joined_ms) < 0.55
    assert mean_utilisation(report.samples, joined_ms + 500, report.fed_ms) > 0.9
    workers = {sample.workers for sample in report.samples}
    assert workers == {20, 40}


@pytest.mark.slow
def test_small_windows_starve_workers_behind_stragglers() -> None:
    starved = simulate(straggler_share=0.001, window=128)
    assert starved.statistics.starved_steps > 0
    assert starved.commit_lag_max <= 256
    assert starved.fed_utilisation < 0.5
    assert simulate(straggler_share=0.001).fed_utilisation > 0.9


@pytest.mark.slow
def test_a_slow_commit_lane_sets_the_pace() -> None:
    report = simulate(commit_us=10_000.0)
    assert 90 < report.items_per_s <= 100
    assert simulate().items_per_s > 170


# ---- its books


def dispatch(worker: int, seq: int, share: int = 10) -> Dispatch:
    return Dispatch(worker, [seq], [1], "", False, share)


def answer(seq: int, size: int = 10, attempt: int = 1) -> Envelope:
    return Envelope(seq, attempt, int(State.TERMINAL_SUCCESS), ("result", seq, attempt), size)


def test_books_report_a_seq_that_is_committed_twice_or_skipped() -> None:
    books = ClusterBooks(1000)
    for seq in range(3):
        books.observe(0, Committed(0), [dispatch(seq, seq)])
        books.observe(0, Finished(seq, [answer(seq)]), [])
    books.observe(0, Committed(0), [CommitRun(0, [answer(0)])])
    books.observe(0, Committed(1), [])
    with pytest.raises(PromiseBroken, match="starts at the cursor 1"):
        books.observe(0, Committed(1), [CommitRun(0, [answer(0)])])
    with pytest.raises(PromiseBroken, match="seq 1 comes next, not 2"):
        books.observe(0, Committed(1), [CommitRun(1, [answer(2)])])


def test_books_report_the_result_of_another_attempt() -> None:
    books = ClusterBooks(1000)
    books.observe(0, Committed(0), [dispatch(0, 0)])
    books.observe(0, Finished(0, [answer(0, attempt=2), answer(0)]), [])
    assert books.refused == 1
    with pytest.raises(PromiseBroken, match="commits the result that was accepted"):
        books.observe(0, Committed(0), [CommitRun(0, [answer(0, attempt=2)])])


def test_books_let_only_the_cursor_and_large_results_go_beyond_the_budget() -> None:
    books = ClusterBooks(100)
    books.observe(0, Committed(0), [dispatch(0, 0, share=150), dispatch(1, 1, share=60)])
    books.observe(0, Finished(1, [answer(1, size=90)]), [])
    assert (books.used_bytes, books.excess_bytes) == (240, 180)
    with pytest.raises(PromiseBroken, match="the byte budget is held"):
        books.observe(0, Committed(0), [dispatch(2, 2, share=41)])


# ---- the picture


@pytest.mark.slow
def test_the_picture_is_one_svg_with_a_panel_for_each_measure() -> None:
    svg = draw_report(simulate(**STORMY))
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    panels = root.findall("{*}g[@class='panel']")
    titles = [panel.get("aria-label", "") for panel in panels]
    assert [title.split(":")[0].split(",")[0] for title in titles] == [
        "Workers computing",
        "Workers alive",
        "Commit lag",
        "Buffered results",
        "Committed items per second",
    ]
    for panel in panels:
        assert panel.find("{*}polyline") is not None
        assert len(panel.findall("{*}line[@stroke='#cf222e']")) == 3
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"seconds", "node lost", "node silent", "100%"} <= set(texts)
    assert "href" not in svg


# ---- the command


def test_the_command_tells_in_a_table_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--out", str(tmp_path / "cluster.svg")]) == 0
    told = capsys.readouterr().out
    assert "200 of 200 items, every seq once, in order" in told
    assert "1 lost node" in told
    ElementTree.parse(tmp_path / "cluster.svg")


def test_the_command_tells_everything_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["committed"] == 200
    assert told["broken_promise"] is None
    assert told["options"]["workers"] == 8
    assert {"at_ms", "utilisation", "commit_lag", "buffered_bytes", "workers"} <= told["samples"][0].keys()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--workers", "3"], "option workers must be at least one per node, 4, got 3"),
        (["--items", "0"], "option items must be at least 1, got 0"),
        (["--item-ms", "0"], "option item-ms must be above 0, got 0.0"),
        (["--slow-nodes", "5"], "option slow-nodes must be at most 4, got 5"),
        (["--slow-factor", "0.5"], "option slow-factor must be at least 1, got 0.5"),
        (["--straggler-share", "2"], "option straggler-share must be between 0 and 1, got 2.0"),
        (["--node-losses", "5"], "must add up to at most 4 nodes, got 5"),
        (["--lease-ms", "10"], "option lease-ms must be at least 100, got 10"),
        (["--window", "2000000"], "option windows.entries_max must be between"),
        (["--out", "missing/cluster.svg"], "missing/cluster.svg cannot be written: No such file or directory"),
    ],
)
def test_a_bad_option_is_one_line(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, *arguments]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    [line] = told.err.splitlines()
    assert line.startswith("error: ")
    assert complaint in line


def test_bad_options_are_refused_when_they_are_made() -> None:
    with pytest.raises(OperatorError, match="option latency-ms must be 0 or more"):
        ClusterOptions(latency_ms=-1.0)


def test_a_cluster_that_loses_too_much_stops_with_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--infrastructure-budget", "0", "--detect-ms", "1"]) == 1
    assert "stopped: infrastructure budget of 0 used up" in capsys.readouterr().out


def test_a_broken_promise_prints_the_command_that_replays_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Pressure, "observe", lambda self, now_ms, values: False)
    changes = ["--result-kb", "1024", "--buffered-mb", "1", "--seed", "7"]
    assert main([*SMALL, *changes]) == 6
    told = capsys.readouterr().err
    assert "a promise was broken: the byte budget is held" in told
    [replay] = [line for line in told.splitlines() if line.startswith("replay it with: ")]
    assert main(replay.split("bench.cluster ")[1].split()) == 6
