"""A watch of a bucket: it is listed at an interval, and a change is followed by a run."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inorder.cli.exit_codes import Interrupted
from inorder.watch.loop import Watcher
from tests.sources.bucket import TEXTS, Bucket, make_bucket


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Bucket]:
    yield from make_bucket(tmp_path)


def interrupt() -> None:
    raise Interrupted(signal.SIGTERM)


def do_between_runs(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], object]) -> None:
    """After each run of a watch, take the next step before it waits for changes."""
    wait, left = Watcher._wait_until_due, list(steps)

    def step_and_wait(watcher: Watcher) -> None:
        left.pop(0)()
        wait(watcher)

    monkeypatch.setattr(Watcher, "_wait_until_due", step_and_wait)


@pytest.mark.slow
def test_objects_that_come_and_go_are_documents_that_come_and_go(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put(TEXTS)
    seen: list[set[str]] = []

    def change() -> None:
        bucket.put({"new.md": b"# New\n\nA new lamp.\n"})
        bucket.remove("a.md")

    do_between_runs(monkeypatch, change, lambda: seen.append(set(bucket.documents())) or interrupt())
    ended = bucket.run("watch", "memory://bucket", "--poll", "0.1", "--settle", "0", "--json")
    assert ended.code == 143, ended.stderr
    assert seen == [{"bucket/b/c.txt", "bucket/plain", "bucket/new.md"}]
    started = [json.loads(line) for line in ended.stdout.splitlines() if '"run_started"' in line]
    assert [each["paths"] for each in started] == [[], ["memory://bucket"]]


@pytest.mark.slow
def test_a_bucket_that_cannot_be_listed_is_waited_for_and_nothing_is_removed(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put(TEXTS)
    before: list[set[str]] = []

    def empty() -> None:
        before.append(set(bucket.documents()))
        for key in TEXTS:
            bucket.remove(key)
        bucket.filesystem.pipe_file("/other/x", b"x")

    do_between_runs(monkeypatch, empty)
    announced: list[str] = []
    monkeypatch.setattr(
        "inorder.cli.commands.make.watch_session.WatchPrinter.warn",
        lambda printer, message: announced.append(message) or interrupt(),
    )
    ended = bucket.run("watch", "memory://bucket", "--poll", "0.1", "--settle", "0")
    assert ended.code == 143
    assert len(announced) == 1
    assert "memory://bucket" in announced[0]
    assert set(bucket.documents()) == before[0]


def test_an_address_that_cannot_be_used_ends_the_watch_at_its_start(bucket: Bucket) -> None:
    ended = bucket.run("watch", "memory://nothing")
    assert ended.code == 2
    assert bucket.run("watch", "gopher://bucket").code == 2
