"""Metrics for Prometheus: complete, well formed, and from the latest run."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.testclient import TestClient

import inorder
from inorder.lanes import Lane, LaneConfig, LaneManager
from inorder.serve.api.metrics import FILE_FAMILIES
from inorder.serve.request_metrics import SERVER_FAMILIES
from inorder.stage.monitor import latest
from inorder.stage.monitor.lane_metrics import LANE_FAMILIES
from inorder.stage.monitor.latest import read_latest_runs
from inorder.stage.monitor.metrics import METRICS
from inorder.stage.monitor.prometheus import FAMILIES, format_sample
from tests.serve.conftest import make_client
from tests.serve.site import Site

pytestmark = pytest.mark.req("VIS-3")
SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\})? (-?[0-9.e+-]+)')


def parse(text: str) -> dict[str, dict[str, float]]:
    """The samples of each name. Fails on a line that is not of the format, and on a name without help and type."""
    found: dict[str, dict[str, float]] = {}
    known: dict[str, str] = {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("#"):
            _, what, name, rest = line.split(" ", 3)
            assert rest.strip()
            if what == "TYPE":
                assert name not in known, "the samples of a name stand together"
                known[name] = rest
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        base = match[1] if match[1] in known else re.sub(r"_(sum|count|bucket)$", "", match[1])
        assert base == list(known)[-1], line
        found.setdefault(match[1], {})[match[2] or ""] = float(match[3])
    return found


def read(client: TestClient) -> dict[str, dict[str, float]]:
    response = client.get("/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return parse(response.text)


def test_damaged_lines_of_the_telemetry_are_left_out(site: Site, tmp_path: Path) -> None:
    shutil.copytree(site.data / "telemetry", tmp_path / "telemetry")
    before = read_latest_runs(str(tmp_path))
    assert before
    for path in (tmp_path / "telemetry").glob("*.jsonl"):
        with path.open("ab") as file:
            file.write(b'{"event": "snapshot", "text": "\xff"}\n{"event": "run_ended"\n')
    assert read_latest_runs(str(tmp_path)) == before


NOT_NUMBERS = ("head", "lanes", "oldest_blocked_state", "running", "waiting_for")
"""Metrics of the telemetry that the format cannot represent, and lanes, which have names of their own."""


def test_every_metric_of_the_telemetry_has_a_name() -> None:
    shown = [field for family in FAMILIES.values() for field in family.fields]
    assert sorted([*shown, *NOT_NUMBERS]) == sorted(METRICS)


@pytest.mark.parametrize("name", [*FAMILIES, *LANE_FAMILIES, *FILE_FAMILIES, *SERVER_FAMILIES])
def test_names_have_base_units_and_counters_end_with_total(name: str) -> None:
    kind, text = (FAMILIES | LANE_FAMILIES | FILE_FAMILIES | SERVER_FAMILIES)[name][:2]
    assert name.startswith("inorder_")
    assert (kind == "counter") == name.endswith("_total")
    assert "_ms" not in name
    assert text.endswith(".")
    if kind in ("summary", "histogram"):
        assert name.endswith("_seconds")


def test_the_latest_run_of_every_stage_is_shown(client: TestClient) -> None:
    found = read(client)
    labels = 'data="data",stage="run"'
    assert found["inorder_items_total"][f'{labels},status="succeeded"'] == 5
    assert found["inorder_run_active"][labels] == 0
    assert found["inorder_run_successful"][labels] == 1
    assert found["inorder_item_exec_seconds_count"][labels] == 5
    assert 0 < found["inorder_item_exec_seconds_sum"][labels] < 60
    assert found["inorder_run_end_time_seconds"][labels] >= found["inorder_run_start_time_seconds"][labels]
    stages = {re.search('stage="([^"]+)"', each)[1] for each in found["inorder_run_info"]}  # type: ignore[index]
    assert stages == {"run"}


@pytest.mark.req("LAN-9")
def test_the_lanes_of_a_run_and_of_its_resources_are_shown(tmp_path: Path) -> None:
    calls = Lane(LaneConfig(name="calls", max_concurrency=3))
    managed = LaneManager(LaneConfig(name="calls", max_concurrency=1), LaneConfig(name="slow"))

    def open_lanes(ctx: inorder.StageContext) -> None:
        ctx.resources["api"], ctx.resources["others"] = calls, managed

    def work(item: inorder.WorkItem, ctx: inorder.StageContext) -> None:
        ctx.resources["api"].submit(int, item.item_id).result()

    path = tmp_path / "lanes.prom"
    plan = inorder.StagePlan("count", [inorder.WorkItem(item_id=str(number)) for number in range(5)])
    options = inorder.StageOptions(data=tmp_path / "data", metrics_file=path, progress="none", workers=2)
    with calls, managed:
        inorder.run_stage(plan, work, options, inorder.StageHooks(before_stage=open_lanes))
    found = parse(path.read_text())
    labels = 'data="data",stage="count",lane='
    assert found["inorder_lane_concurrency"][f'{labels}"calls"'] == 3
    assert found["inorder_lane_concurrency"][f'{labels}"others.calls"'] == 1
    assert found["inorder_lane_submissions_total"][f'{labels}"calls",outcome="accepted"'] == 5
    assert found["inorder_lane_tasks_total"][f'{labels}"calls",state="completed"'] == 5
    assert found["inorder_lane_tasks_total"][f'{labels}"commit",state="completed"'] >= 1
    assert found["inorder_lane_run_seconds_count"][f'{labels}"calls"'] == 5
    assert f'{labels}"calls",quantile="0.95"' in found["inorder_lane_wait_seconds"]
    assert f'{labels}"slow"' in found["inorder_lane_queued_tasks"]


@pytest.mark.req("PIP-5")
def test_files_are_counted_as_the_run_counts_them(tmp_path: Path) -> None:
    own = Site(tmp_path)
    own.write(
        **{"a.md": "# Lamps\n\nOil.\n", "b.md": "# Lamps\n\nOil.\n", "torn.pdf": b"%PDF-1.4 torn", "empty.txt": ""}
    )
    for _ in range(2):
        outcome, client = own.read_docs(), make_client(own.data)
        found = read(client)
        expected = msgspec.to_builtins(outcome.counts)
        labels = {f'data="data",class="{name}"': count for name, count in expected.items()}
        assert found["inorder_run_files"] == labels
        files = client.get("/api/report").json()["runs"][0]["files"]
        assert files["counts"] == expected
        assert (files["documents"], files["not_read"]) == (outcome.documents, outcome.not_read)


def test_the_server_counts_its_requests(site: Site) -> None:
    client = make_client(site.data)
    for path in ("/api/search?q=lamp", "/api/search?q=", "/no/such/page", "/another"):
        client.get(path)
    found = read(client)["inorder_serve_requests_total"]
    assert found['route="/api/search",status="200"'] == 1
    assert found['route="/api/search",status="400"'] == 1
    assert found['route="other",status="404"'] == 2


def test_data_without_runs_has_metrics_of_the_server_only(tmp_path: Path) -> None:
    assert all(name.startswith("inorder_serve_") for name in read(make_client(tmp_path)))


def test_a_run_without_an_end_is_killed_and_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "telemetry"
    folder.mkdir()
    started = '{"time":1000,"event":"run_started","stage":"count","run_id":"r1","resumed_at":null}\n'
    snapshot: Any = '{"time":3000,"event":"snapshot","items_succeeded":7,"items_total":9}\n'
    (folder / "r1.jsonl").write_text(f'{started}{{"damaged\n{snapshot}{{"time":4000,"event":"snap')
    (folder / "empty.jsonl").write_text("")
    found = read(make_client(tmp_path))
    name = tmp_path.name
    assert found["inorder_run_info"] == {f'data="{name}",stage="count",run_id="r1",state="killed"': 1}
    assert found["inorder_items_total"] == {f'data="{name}",stage="count",status="succeeded"': 7}
    assert found["inorder_run_update_time_seconds"] == {f'data="{name}",stage="count"': 3}
    assert found["inorder_run_successful"] == {f'data="{name}",stage="count"': 0}


def test_labels_are_escaped() -> None:
    assert format_sample("x", {"a": 'b"\\\n'}, 1) == 'x{a="b\\"\\\\\\n"} 1'


@pytest.mark.slow
def test_a_file_for_batch_jobs_has_what_the_server_would_show(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "metrics" / "inorder.prom"
    runs = Site(tmp_path)
    runs.write(**{"note.md": "# Lamps\n\nOil.\n"})
    runs.read_docs(metrics_file=path)
    found = parse(path.read_text())
    assert found["inorder_run_successful"] == {'data="data",stage="run"': 1}
    served = read(make_client(runs.data))
    assert {name: served[name] for name in found} == found


def test_a_file_needs_telemetry() -> None:
    with pytest.raises(inorder.OperatorError, match="metrics_file needs telemetry"):
        inorder.StageOptions(metrics_file="x.prom", telemetry=False)


def test_the_dashboard_uses_only_names_that_exist() -> None:
    dashboard = Path(__file__).parents[2] / "docs" / "grafana-dashboard.json"
    panels = json.loads(dashboard.read_text(encoding="utf-8"))["panels"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    words = {word for query in queries for word in re.findall("inorder_[a-z_]+", query)}
    known = {*FAMILIES, *LANE_FAMILIES, *FILE_FAMILIES, *SERVER_FAMILIES}
    assert {re.sub(r"_(bucket|count|sum)$", "", word) if word not in known else word for word in words} <= known
    assert len(words) >= 15
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_the_latest_snapshot_is_found_however_long_the_telemetry_is(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(site.data / "telemetry", tmp_path / "telemetry")
    expected = read_latest_runs(str(tmp_path))
    assert all(run.snapshot for run in expected)
    monkeypatch.setattr(latest, "_TAIL_BYTES", 2)
    assert read_latest_runs(str(tmp_path)) == expected
