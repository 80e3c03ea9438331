"""The watch in the report, in the live page and in the metrics."""

import msgspec
import pytest

from inorder.host.filesystem import SystemFilesystem, write_atomic
from inorder.report.build import build_report
from inorder.report.page.render import render_html
from inorder.serve.api.metrics import answer_metrics
from inorder.serve.api.overview import NoParams, answer_overview
from inorder.serve.catalog import Catalog
from inorder.serve.live import LiveFeed
from inorder.serve.request_metrics import RequestMetrics
from inorder.watch.metrics import WATCH_FAMILIES
from inorder.watch.status import STATES, WatchedRun, WatchPlace, WatchStatus
from tests.support.command_line import CommandLine

STATUS = WatchStatus(
    pid=4711,
    host="lighthouse",
    since_ms=1_700_000_000_000,
    sources=["docs/<b>"],
    state="retrying",
    is_polling=True,
    pending_changes=3,
    last_change_ms=1_700_000_100_000,
    last_run=WatchedRun(number=7, ended_ms=1_700_000_200_000, duration_ms=1_500, exit_code=3),
    next_poll_ms=1_700_000_300_000,
    next_retry_ms=1_700_000_250_000,
    last_error="no space left on device",
    last_error_ms=1_700_000_200_000,
)
FACTS = (
    "since 2023-11-14 22:13:20 UTC, process 4711 on lighthouse",
    "last change 2023-11-14 22:15:00 UTC",
    "3 changes pending",
    "last run: number 7, ended 2023-11-14 22:16:40 UTC, in 1.5 s, exit code 3",
    "a source that sends no events is listed",
    "next listing 2023-11-14 22:18:20 UTC",
    "next try 2023-11-14 22:17:30 UTC",
    "last error, 2023-11-14 22:16:40 UTC: <bdi>no space left on device</bdi>",
)


class Display:
    """DATA with a run and a watch that is alive."""

    def __init__(self, cli: CommandLine) -> None:
        self.data = str(cli.data)
        self.place = WatchPlace(self.data)
        self.lock = self.place.lock()

    def write(self, **fields: object) -> None:
        status = msgspec.structs.replace(STATUS, **fields)
        write_atomic(SystemFilesystem(), self.place.path, msgspec.json.encode(status))


@pytest.fixture
def display(cli: CommandLine) -> Display:
    cli.sources("one", "two")
    assert cli.run_in_process("stage", "jobs:count", "sources", "-q", "--policy", "io").code == 0
    return Display(cli)


def test_a_report_without_a_watch_says_nothing_of_one(display: Display) -> None:
    report = build_report(display.data)
    assert report.watch is None
    assert 'id="watch"' not in render_html(report)


def test_the_report_shows_everything_that_is_known_of_the_watch(display: Display) -> None:
    display.write()
    report = build_report(display.data)
    assert report.watch == STATUS
    page = render_html(report)
    assert [fact for fact in FACTS if f"<li>{fact}</li>" not in page] == []
    assert "docs/&lt;b&gt;" in page


@pytest.mark.parametrize("state", STATES)
def test_every_state_has_a_badge_and_a_meaning(display: Display, state: str) -> None:
    display.write(state=state)
    page = render_html(build_report(display.data))
    assert f'<span class="badge state-{state}">' in page
    assert STATES[state] in page
    assert f".state-{state}" in page


def test_a_killed_watch_has_no_next_time(display: Display) -> None:
    display.write()
    display.lock.release()
    page = render_html(build_report(display.data))
    assert STATES["killed"] in page
    assert "next listing" not in page
    assert "next try" not in page


def test_the_live_page_is_made_again_when_the_watch_changes(display: Display) -> None:
    feed = LiveFeed(display.data)
    assert 'id="watch"' not in feed.read_report().html
    display.write(state="watching")
    shown = feed.read_report()
    assert "state-watching" in shown.html
    assert feed.read_report().version == shown.version
    display.write(state="watching", pending_changes=4)
    assert feed.read_report().version == shown.version, "more pending changes are not worth a new report"
    display.lock.release()
    assert "state-killed" in feed.read_report().html


@pytest.mark.req("VIS-3")
def test_the_metrics_have_the_watch(display: Display) -> None:
    catalog = Catalog([display.data])
    assert "inorder_watch" not in bytes(answer_metrics(catalog, RequestMetrics()).body).decode()
    display.write()
    [name] = catalog.names
    shown = bytes(answer_metrics(catalog, RequestMetrics()).body).decode().splitlines()
    values = [1, 1, 3, 7, 1_700_000_000.0, 1_700_000_100.0, 1_700_000_200.0, 1.5, 3]
    for (metric, family), value in zip(WATCH_FAMILIES.items(), values, strict=True):
        assert f"# TYPE {metric} {family.kind}" in shown
        assert f'{metric}{{data="{name}"}} {value}' in shown
    assert answer_overview(catalog, NoParams()).data[0].watch == "retrying"
    display.lock.release()
    assert f'inorder_watch_active{{data="{name}"}} 0' in bytes(answer_metrics(catalog, RequestMetrics()).body).decode()
