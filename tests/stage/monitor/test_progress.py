"""Progress of a stage on stderr."""

import io
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import inorder
from inorder.stage.monitor import monitor
from inorder.stage.monitor.histograms import SlowestItems
from inorder.stage.monitor.progress import (
    LineDisplay,
    Rate,
    StageProgress,
    format_details,
    format_eta,
    format_left,
    format_line,
    format_stopping,
    measure_rate,
    open_display,
)
from tests.stage.jobs import Place
from tests.stage.workers import obey
from tests.support.gates import GUARD_S
from tests.support.python_path import prepend_path

LINE = re.compile(
    r"\[shout\] (\d+)/(\d+|\?) \| succ (\d+) \| skip (\d+) \| fail (\d+) "
    r"\| (\d+\.\d) it/s \| ETA (--:--:--|\d\d+:\d\d:\d\d)"
)


def test_files_are_counted_without_the_outcomes_of_items() -> None:
    progress = StageProgress("run", 400, 230, 0, 2, 100.0, unit="files")
    assert format_line(progress, 2.4) == "[run] 232/400 files | 2 failed | 2.4 files/s | 1:10 left"
    assert format_line(progress._replace(succeeded=398), 2.4) == "[run] 400/400 files | 2 failed | 2.4 files/s"
    assert format_left(progress._replace(total=40_000), 2.4) == "4:36:10 left"


@pytest.mark.req("RUN-9")
def test_a_line_says_it_all() -> None:
    progress = StageProgress("doctags", 57_000, 230, 2, 2, 100.0)
    assert format_line(progress, 92.4) == "[doctags] 234/57000 | succ 230 | skip 2 | fail 2 | 92.4 it/s | ETA 00:10:14"


@pytest.mark.parametrize(
    ("total", "done", "rate", "said"),
    [
        (100, 40, 1.0, "00:01:00"),
        (100, 100, 1.0, "00:00:00"),
        (1_000_000, 0, 1.0, "277:46:40"),
        (100, 40, 0.0, "--:--:--"),
        (None, 40, 1.0, "--:--:--"),
    ],
)
@pytest.mark.req("RUN-9")
def test_the_end_is_foretold_where_it_can_be(total: int | None, done: int, rate: float, said: str) -> None:
    assert format_eta(StageProgress("shout", total, done, 0, 0, 1.0), rate) == said


def test_a_plan_of_unknown_length_has_a_question_mark() -> None:
    assert format_line(StageProgress("shout", None, 3, 0, 0, 1.0), 1.0).startswith("[shout] 3/? | succ 3")


def test_the_rate_is_that_of_the_latest_samples() -> None:
    rate = Rate(100)
    assert rate.sample(StageProgress("shout", None, 110, 0, 0, 1.0)) == 10.0
    for second in range(2, 30):
        latest = rate.sample(StageProgress("shout", None, 110 + second, 0, 0, float(second)))
    assert latest == 1.0


def test_the_rate_at_the_very_beginning_is_none() -> None:
    assert Rate(0).sample(StageProgress("shout", None, 0, 0, 0, 0.0)) == 0.0


@pytest.mark.req("RUN-9")
def test_verbose_adds_the_slowest_items_and_the_most_frequent_categories() -> None:
    slowest = SlowestItems()
    slowest.record("a", 1500.0)
    slowest.record("b", 20.0)
    assert format_details(slowest, Counter({"io": 3, "runtime": 7})) == [
        "  slowest: a 1.50s, b 0.02s",
        "  errors: runtime 7, io 3",
    ]
    assert format_details(SlowestItems(), Counter()) == []


@pytest.mark.req("RUN-9")
def test_a_run_that_nobody_watches_on_a_terminal_ends_with_a_line_on_stderr(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [place.item("a"), place.item("b", "skip"), place.item("c", "fail")]
    place.run(items, progress="auto", verbose=True)
    said = capsys.readouterr()
    assert said.out == ""
    first, *more = said.err.splitlines()
    found = LINE.fullmatch(first)
    assert found is not None
    assert found.groups()[:5] == ("3", "3", "1", "1", "1")
    assert more[0].startswith("  slowest: ")
    assert more[1:] == ["  errors: runtime 1"]


@pytest.mark.req("RUN-9")
def test_a_line_comes_every_interval(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    shown = threading.Semaphore(0)
    show = LineDisplay.show

    def showing(self: LineDisplay, *arguments: Any) -> None:
        show(self, *arguments)
        shown.release()

    def worker(item: inorder.WorkItem) -> None:
        assert shown.acquire(timeout=GUARD_S)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LineDisplay, "show", showing)
        items = (inorder.WorkItem(item_id=str(number)) for number in range(3))
        place.run(items, worker, progress="lines", diagnostics_interval_s=0.01, workers=1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 4
    assert all(LINE.fullmatch(each) for each in lines)
    totals = [each.split(" | ")[0].split("/")[1] for each in lines]
    assert set(totals) <= {"?", "3"}  # known once the plan is read to its end
    assert lines[-1].startswith("[shout] 3/3 | ")


def totals_of(text: str) -> list[tuple[int, int]]:
    """Done and total of every line of progress."""
    return [(int(found[1]), int(found[2])) for found in map(LINE.fullmatch, text.splitlines()) if found]


@pytest.mark.parametrize("expected", [1, 4, 9])
@pytest.mark.req("RUN-9")
def test_an_estimate_too_low_or_too_high_gives_way_to_the_number_of_items(
    place: Place, capsys: pytest.CaptureFixture[str], expected: int
) -> None:
    def stage(items: Any) -> inorder.StagePlan:
        return inorder.StagePlan("shout", items, expected_items=expected)

    options = place.options(progress="lines", diagnostics_interval_s=0.001, max_queue=1)
    inorder.run_stage(stage(iter(place.items(4))), obey, options)
    shown = totals_of(capsys.readouterr().err)
    assert shown[-1] == (4, 4)
    assert all(done <= total for done, total in shown)


@pytest.mark.slow
@pytest.mark.req("RUN-9")
def test_stale_items_count_as_items_when_they_are_found(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    for names in ("abcd", "a", "abc"):
        plan = inorder.StagePlan("shout", [place.item(name) for name in names], retires=lambda item_id, path: True)
        outcome = inorder.run_stage(plan, obey, place.options(progress="lines", diagnostics_interval_s=0.001))
        shown = totals_of(capsys.readouterr().err)
        assert shown[-1] == (outcome.scheduled, outcome.scheduled)
        assert all(done <= total for done, total in shown)
    assert [len(run) - 1 for run in place.runs()] == [4, 4, 3]


@pytest.mark.req("RUN-9")
def test_a_run_that_stopped_still_shows_what_it_was_to_do(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.run([place.item("a", "fail"), *place.items(5)], progress="lines", error_budget=0, max_queue=1, workers=1)
    assert totals_of(capsys.readouterr().err)[-1] == (1, 6)


def test_silence_is_silence(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.run([place.item("a", "fail")], progress="none", verbose=True)
    assert capsys.readouterr() == ("", "")


def test_a_stop_is_announced_with_what_can_be_done(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert format_stopping("shout", "received SIGINT", 5000) == (
        "[shout] stopping: received SIGINT; waiting up to 5 s for running items; press Ctrl-C again to stop now"
    )
    place.run([place.item("a", "fail"), place.item("b")], progress="lines", error_budget=0)
    assert capsys.readouterr().err.splitlines()[0] == (
        "[shout] stopping: error budget of 0 exceeded; waiting up to 5 s for running items"
    )


class Closed(io.StringIO):
    """A pipe that nobody reads any more."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize("stream", [Closed(), None])
def test_a_run_goes_on_where_nobody_can_see_it(place: Place, stream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        outcome = place.run([place.item("a"), place.item("b", "fail")], progress="lines", error_budget=0, verbose=True)
    assert outcome.succeeded == 1


def test_a_stream_says_itself_whether_it_is_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert isinstance(open_display("auto", "shout", 3, 0, 5.0, verbose=False), LineDisplay)


PROGRAM = """
import sys
import inorder
from tests.stage.workers import obey
from tests.stage.jobs import Place
from tests.stage.workers import obey
from pathlib import Path
place = Place(Path(sys.argv[1]))
items = [*place.items(20), place.item("z", "fail")]
place.run(items, progress="auto", verbose=True)
print("done")
"""


@pytest.mark.process
@pytest.mark.req("RUN-9")
def test_on_a_terminal_a_bar_moves_and_stays_at_its_end(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {
        **os.environ,
        "TERM": "xterm",
        "COLUMNS": "200",
        "PYTHONPATH": prepend_path(Path(__file__).parents[3]),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], stdout=subprocess.PIPE, stderr=theirs, env=environment
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            seen += os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
    os.close(ours)
    assert process.stdout is not None
    assert process.stdout.read() == b"done\n"
    assert process.wait(GUARD_S) == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert "shout" in text
    assert "21/21" in text
    assert "succ 20 skip 0 fail 1" in text
    for word in ("it/s", "ETA", "in flight", "MB buffered", "lag", "slowest:", "errors: runtime 1"):
        assert word in text


@pytest.mark.slow
def test_a_plan_that_turns_out_to_be_another_is_shown_once(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first bar, or the first lines, must be gone before the second begin."""
    displays: list[Any] = []

    def displaying(*arguments: Any, **options: Any) -> Any:
        displays.append(open_display(*arguments, **options))
        return displays[-1]

    monkeypatch.setattr(monitor, "open_display", displaying)

    class Changing:
        """Can be read again and again, and has other items the second time it is run."""

        def __init__(self, names: str) -> None:
            self.names = names

        def __iter__(self) -> Any:
            return iter([place.item(name, "hang" if name == "h" else "shout") for name in self.names])

    def stop(item: inorder.WorkItem, result: object, ctx: object) -> None:
        if item.item_id == "a":
            os.kill(os.getpid(), signal.SIGINT)

    place.run(Changing("abh"), hooks=inorder.StageHooks(after_item=stop), cancel_grace_s=0, workers=1)
    capsys.readouterr()
    outcome = place.run(Changing("xyz"), progress="bar")
    assert (outcome.succeeded, outcome.resumed_at) == (3, None)
    first, second = displays[-2:]
    assert first._bar.live.is_started is False
    assert second._bar.live.is_started is False
    assert [row["doc_id"] for row in place.runs()[-1][1:]] == ["x", "y", "z"]
    assert outcome.queue_p50_ms >= 0


def test_the_rate_of_a_run_counts_what_it_has_done_itself() -> None:
    resumed: Any = SimpleNamespace(done=110, elapsed_s=5.0)
    assert measure_rate(resumed, 100) == 2.0
    assert measure_rate(SimpleNamespace(done=100, elapsed_s=0.0), 100) == 0.0  # type: ignore[arg-type]
