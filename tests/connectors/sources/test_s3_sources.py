"""`inorder run s3://...` against moto's S3 server, with faults."""

import json
import os
import signal
import threading
from itertools import count
from pathlib import Path

import pytest

from inorder.sources.listing import identify_listing
from tests.connectors.sources.s3_faults import (
    BUCKET,
    KEY_ID,
    SECRET,
    TOKEN,
    Answer,
    Fault,
    FaultyS3,
    SeenRequest,
    make_error,
)
from tests.documents.pdf_files import draw_lines, draw_pdf
from tests.sources.bucket import TEXTS, Bucket, write_files
from tests.support.command_line import GUARD_S, CommandLine

pytestmark = [pytest.mark.process, pytest.mark.slow]

SOURCE = f"s3://{BUCKET}/docs"


def put_below_docs(s3: FaultyS3, objects: dict[str, bytes]) -> None:
    s3.put({f"docs/{key}": content for key, content in objects.items()})


class Killer:
    """Kills a process at the read with this number."""

    def __init__(self, at: int) -> None:
        self._numbers = count(1)
        self._at = at
        self._has_target = threading.Event()

    def aim(self, pid: int) -> None:
        self._pid = pid
        self._has_target.set()

    def __call__(self, request: SeenRequest) -> None:
        if not request.is_listing and next(self._numbers) == self._at:
            self._has_target.wait()
            os.kill(self._pid, signal.SIGKILL)


def read_failure(place: Bucket) -> dict[str, str]:
    [failure] = json.loads(place.command("failures", "--json").stdout)["failures"]
    found: dict[str, str] = failure["error"]
    return found


def test_documents_of_a_bucket_equal_those_of_the_same_files_and_a_second_run_reads_nothing(
    s3: FaultyS3, place: Bucket, tmp_path: Path
) -> None:
    put_below_docs(s3, TEXTS)
    s3.put({"docs-old/x.md": b"# Another prefix\n", "docs/": b"", "docs/b/": b""})
    write_files(tmp_path / "docs", TEXTS)
    assert place.command("run", SOURCE, "--data", "remote", "--workers", "2", "--quiet").code == 0
    assert place.run("run", "docs", "--data", "local").code == 0
    assert place.documents("remote") == place.documents("local")
    assert len(place.documents("remote")) == len(TEXTS) == len(s3.gets)
    assert all(request.headers["if-match"] for request in s3.gets)
    s3.requests.clear()
    assert place.run("run", SOURCE, "--data", "remote").code == 0
    assert s3.gets == []


@pytest.mark.parametrize(
    ("key", "item_id"),
    [
        ("docs/../up.md", "docs/%2E%2E/up.md"),
        ("docs/./here.md", "docs/%2E/here.md"),
        ("docs//twice.md", "docs/%2F/twice.md"),
        ("docs/line\rbreak\x01.md", "docs/line%0Dbreak%01.md"),
        ("docs/50%.md", "docs/50%25.md"),
        ("docs/ä/\U0001f600.md", "docs/ä/\U0001f600.md"),
        ("docs/a?versionId=b&c=d#e.md", "docs/a?versionId=b&c=d#e.md"),
        ("docs/slash/", "docs/slash/%2F"),
        ("docs", "docs"),
        (f"docs/{'k' * 1016}.md", f"docs/{'k' * 1016}.md"),
    ],
)
def test_odd_keys_are_read_and_have_safe_ids(s3: FaultyS3, place: Bucket, key: str, item_id: str) -> None:
    s3.put({key: b"Odd.\n", "docs/plain.md": b"# Plain\n"})
    ended = place.run("doctags", SOURCE)
    assert (ended.code, ended.stderr) == (0, "")
    assert sorted(place.documents()) == sorted([item_id, "docs/plain.md"])


def test_an_object_that_is_replaced_before_it_is_read_fails_and_the_next_run_reads_it(
    s3: FaultyS3, place: Bucket
) -> None:
    put_below_docs(s3, TEXTS)
    changes = iter([b"# Other\n"])

    def replace(request: SeenRequest) -> None:
        if request.key == "docs/a.md" and (content := next(changes, None)):
            put_below_docs(s3, {"a.md": content})

    s3.fault = replace
    assert place.run("doctags", SOURCE).code == 3
    assert read_failure(place)["category"] == "provider"
    assert "docs/a.md" not in place.documents()
    assert place.run("doctags", SOURCE).code == 0
    assert b"Other" in place.documents()["docs/a.md"]


def test_a_server_that_asks_to_slow_down_and_one_that_cuts_answers_off_are_asked_again(
    s3: FaultyS3, place: Bucket
) -> None:
    put_below_docs(s3, TEXTS)
    slow_down = make_error("503 Slow Down", "SlowDown", Retry_After="1")
    cut_off = Answer("200 OK", b"# La", (("Content-Length", "22"), ("ETag", '"x"')))
    answers = {"docs/a.md": iter([slow_down, cut_off]), "docs/plain": iter([make_error("500 Oh", "InternalError")])}
    s3.fault = lambda request: next(answers.get(request.key, iter(())), None)
    assert place.run("doctags", SOURCE).code == 0
    assert len(place.documents()) == len(TEXTS)
    assert [request.key for request in s3.gets].count("docs/a.md") >= 3  # the client may repeat a read by itself


@pytest.mark.req("ROB-1")
def test_an_object_that_stops_arriving_fails_alone(
    s3: FaultyS3, place: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inorder.sources.web.WINDOW_S", 1.0)
    put_below_docs(s3, TEXTS)
    let_go = threading.Event()
    stalled = Answer("200 OK", b"# La", (("Content-Length", "22"), ("ETag", '"x"')), let_go)
    s3.fault = lambda request: stalled if request.key == "docs/a.md" else None
    try:
        assert place.run("doctags", SOURCE).code == 3
    finally:
        let_go.set()
    assert "fewer than 1,000 bytes per second arrived in 1 s" in read_failure(place)["message"]
    assert len(place.documents()) == len(TEXTS) - 1


def test_a_listing_whose_second_page_fails_ends_the_run_and_deletes_nothing(
    s3: FaultyS3, place: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_below_docs(s3, {**TEXTS, **{f"skipped/{number:04}.bin": b"x" for number in range(1000)}, "z.md": b"# Last\n"})
    assert place.run("doctags", SOURCE).code == 0
    assert sum(request.is_listing for request in s3.requests) == 3
    before = place.documents()
    monkeypatch.setattr("inorder.sources.fetching._BACKOFF_S", 0.0)
    s3.fault = lambda request: (
        make_error("500 Oh", "InternalError") if "continuation-token" in request.parameters else None
    )
    ended = place.run("doctags", SOURCE)
    assert ended.code == 1
    assert f"cannot list {SOURCE}: the store failed (InternalError, HTTP 500)" in ended.stderr
    assert place.documents() == before
    s3.fault = lambda request: None
    assert place.run("doctags", SOURCE).code == 0
    assert place.documents() == before


@pytest.mark.parametrize("address", ["s3://no-such-bucket/docs", f"s3://{BUCKET}/typo"])
def test_a_missing_bucket_or_prefix_is_an_error_of_the_operator(s3: FaultyS3, place: Bucket, address: str) -> None:
    put_below_docs(s3, TEXTS)
    ended = place.run("doctags", address)
    assert ended.code == 2
    assert address in ended.stderr


def test_a_large_object_is_read_in_ranges_of_the_listed_version(
    s3: FaultyS3, place: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inorder.sources.fetching.RANGE_BYTES", 1000)
    objects = {"long.txt": b"".join(b"Line %d of the log of the lighthouse.\n" % number for number in range(100))}
    put_below_docs(s3, objects)
    write_files(tmp_path / "docs", objects)
    assert place.run("doctags", SOURCE, "--data", "remote").code == 0
    assert place.run("doctags", "docs", "--data", "local").code == 0
    assert place.documents("remote") == place.documents("local")
    ranges = sorted(request.headers["range"] for request in s3.gets if "range" in request.headers)
    assert ranges == ["bytes=0-999", "bytes=1000-1999", "bytes=2000-2999", "bytes=3000-3789"]


def test_parts_of_a_long_pdf_do_not_fetch_it_again(
    s3: FaultyS3, place: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inorder.documents.convert.parts.LARGE_BYTES", 1)
    monkeypatch.setattr("inorder.sources.fetching.SHARED_BYTES", 1)
    objects = {"long.pdf": draw_pdf(*(draw_lines(f"page {number}") for number in range(6)))}
    put_below_docs(s3, objects)
    write_files(tmp_path / "docs", objects)
    assert place.run("doctags", SOURCE, "--set", "split_pages=2", "--data", "remote").code == 0
    assert place.run("doctags", "docs", "--data", "local").code == 0
    assert place.documents("remote") == place.documents("local")
    assert len(s3.gets) == 1


@pytest.mark.parametrize("is_denied", [False, True])
def test_no_secret_is_written_or_printed(s3: FaultyS3, place: Bucket, tmp_path: Path, is_denied: bool) -> None:
    put_below_docs(s3, TEXTS)
    printed = []
    denied = make_error("403 Forbidden", "InvalidAccessKeyId")
    faults: list[Fault] = [lambda request: None, lambda request: None if request.is_listing else denied]
    for fault in [*faults, lambda request: denied] if is_denied else faults[:1]:
        s3.fault = fault
        for command in (
            ("run", SOURCE, "--policy", "io"),
            ("plan", SOURCE),
            ("failures", "--json"),
            ("verify",),
            ("report", "-o", "report.html"),
            ("config", "show"),
            ("plan",),
        ):
            ended = place.command(*command)
            printed.append(ended.stdout + ended.stderr)
    everything = "".join(printed).encode()
    everything += b"".join(path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file())
    assert b"Traceback" not in "".join(printed).encode()
    for secret in (KEY_ID, SECRET, TOKEN):
        assert secret.encode() not in everything


def test_the_identity_of_a_listing_changes_with_every_change_of_the_bucket(
    s3: FaultyS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    found = []
    for change in (
        lambda: put_below_docs(s3, TEXTS),
        lambda: put_below_docs(s3, {"a.md": b"# Other\n"}),
        lambda: put_below_docs(s3, {"new.md": b"# New\n"}),
        lambda: s3.remove("docs/new.md"),
    ):
        change()
        found += [identify_listing(SOURCE), identify_listing(SOURCE)]
    assert found[0] == found[1]
    assert found[6] == found[2]
    assert len({found[0], found[2], found[4]}) == 3


def test_a_driver_that_is_killed_resumes_and_equals_an_undisturbed_run(
    s3: FaultyS3, place: Bucket, tmp_path: Path
) -> None:
    objects = {f"{number:03}.md": f"# Lamp {number}\n\nIt burns.\n".encode() for number in range(40)}
    put_below_docs(s3, objects)
    write_files(tmp_path / "docs", objects)
    line = CommandLine(tmp_path)
    for kill_at in (3, 17, 33):
        killer = Killer(kill_at)
        s3.fault = killer
        driver = line.start("run", SOURCE, "--data", "remote", "--workers", "2", "--quiet", **s3.environment)
        killer.aim(driver.pid)
        line.end_of(driver)
    s3.fault = lambda request: None
    assert place.command("run", SOURCE, "--data", "remote", "--workers", "2", "--quiet").code == 0
    assert place.run("run", "docs", "--data", "local").code == 0
    assert place.documents("remote") == place.documents("local")
    assert place.command("verify", "--data", "remote").code == 0


@pytest.mark.parametrize("command", ["doctags", "run"])
def test_a_worker_process_reads_several_objects_at_the_same_time(s3: FaultyS3, place: Bucket, command: str) -> None:
    put_below_docs(s3, {f"{number}.md": b"# Lamp\n" for number in range(8)})
    both = threading.Barrier(2, timeout=GUARD_S)
    numbers = count(1)

    def meet(request: SeenRequest) -> None:
        if not request.is_listing and next(numbers) <= 2:
            both.wait()

    s3.fault = meet
    ended = place.command(command, SOURCE, "--workers", "1", "--quiet")
    assert (ended.code, ended.stderr) == (0, "")
    assert not both.broken
