"""Reads through the lane: retries, pauses, ranges, and what is kept."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from inorder.sources import fetching
from inorder.sources.fetching import Fetcher
from inorder.sources.limits import FetchLimits
from inorder.sources.problems import RemoteProblem, translate_problem
from inorder.sources.remote_input import GROUP_BYTES, RemoteInput, count_group
from inorder.sources.stores import BucketStore, ObjectInfo, Store

ADDRESS = "s3://bucket/a"


class BusyError(Exception):
    """As HTTP libraries raise it."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__("a message with a SECRET")
        self.status = status
        self.headers = headers


class BotoError(Exception):
    """As botocore raises it."""

    def __init__(self, status: int, code: str, **headers: str) -> None:
        super().__init__("a message with a SECRET")
        self.response = {
            "Error": {"Code": code, "AWSAccessKeyId": "SECRET"},
            "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers},
        }


class ScriptedStore(Store):
    """Reads one object, and raises what it is told first."""

    has_ranges = True

    def __init__(self, content: bytes, *errors: Exception) -> None:
        super().__init__("memory", None)
        self.content = content
        self.errors = list(errors)
        self.reads: list[tuple[int | None, int | None]] = []

    def read(self, source: ObjectInfo, start: int | None = None, stop: int | None = None) -> bytes:
        self.reads.append((start, stop))
        if self.errors:
            raise self.errors.pop(0)
        return self.content[start:stop]

    def check(self, source: ObjectInfo, address: str) -> None:
        pass


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def fetcher(waits: list[float]) -> Iterator[Fetcher]:
    made = Fetcher(FetchLimits(concurrency=2, attempts_max=4), wait=waits.append)
    yield made
    made.close()


def read(fetcher: Fetcher, store: Store, size: int = 3) -> bytes:
    return fetcher.read(store, ObjectInfo("a", size, "version"), ADDRESS)


def test_a_failure_that_may_pass_is_repeated_with_growing_pauses(fetcher: Fetcher, waits: list[float]) -> None:
    store = ScriptedStore(b"abc", BotoError(503, "SlowDown"), TimeoutError(), BusyError(500))
    assert read(fetcher, store) == b"abc"
    assert waits == [0.2, 0.4, 0.8]


def test_all_requests_wait_as_long_as_the_store_asks(fetcher: Fetcher, waits: list[float]) -> None:
    assert read(fetcher, ScriptedStore(b"abc", BusyError(429, **{"Retry-After": "7"}))) == b"abc"
    assert waits[0] == 7.0
    assert 6.0 < waits[1] <= 7.0
    waits.clear()
    assert fetcher.call(ADDRESS, lambda: 1) == 1
    assert 6.0 < waits[0] <= 7.0


def test_a_pause_that_is_too_long_is_left_to_the_run(fetcher: Fetcher, waits: list[float]) -> None:
    with pytest.raises(RemoteProblem) as caught:
        read(fetcher, ScriptedStore(b"abc", BotoError(503, "SlowDown", **{"retry-after": "600"})))
    error = caught.value.to_stage_error()
    assert (error.category, error.retryable, error.retry_after_s) == ("provider", True, 600.0)
    assert waits == []


def test_a_store_that_stays_busy_is_given_up(fetcher: Fetcher, waits: list[float]) -> None:
    store = ScriptedStore(b"abc", *[BusyError(503)] * 9)
    with pytest.raises(RemoteProblem, match="the store failed"):
        read(fetcher, store)
    assert len(store.reads) == 4


def test_a_body_that_is_too_short_is_read_again(fetcher: Fetcher) -> None:
    store = ScriptedStore(b"ab")
    with pytest.raises(RemoteProblem, match="the response has 2 of 3 bytes"):
        read(fetcher, store)
    assert len(store.reads) == 4


def test_a_large_object_is_read_in_ranges(fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "RANGE_BYTES", 4)
    store = ScriptedStore(b"0123456789", TimeoutError())
    assert read(fetcher, store, 10) == b"0123456789"
    assert sorted(set(store.reads)) == [(0, 4), (4, 8), (8, 10)]


def test_small_objects_are_forgotten_and_large_ones_kept_within_a_limit(
    fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "SHARED_BYTES", 3)
    monkeypatch.setattr(fetching, "CACHE_BYTES", 7)
    small, large = ScriptedStore(b"ab"), ScriptedStore(b"abc")
    for name in ("1", "2", "3", "3", "1"):
        fetcher.read(large, ObjectInfo(name, 3, "version"), name)
        fetcher.read(small, ObjectInfo(name, 2, "small"), name)
    assert len(large.reads) == 4  # the third one replaced the first
    assert len(small.reads) == 5
    fetcher.read_ahead([(small, ObjectInfo("1", 2, "small"), "1")])
    assert fetcher.read_head(small, ObjectInfo("1", 2, "small"), "1", 1) == b"a"
    fetcher.read(small, ObjectInfo("1", 2, "small"), "1")
    assert len(small.reads) == 6


def test_an_object_that_cannot_be_read_ahead_fails_when_it_is_read(fetcher: Fetcher) -> None:
    store = ScriptedStore(b"abc", FileNotFoundError(), FileNotFoundError())
    fetcher.read_ahead([(store, ObjectInfo("a", 3, "version"), ADDRESS)])
    with pytest.raises(RemoteProblem, match="no such object"):
        read(fetcher, store)


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (FileNotFoundError("SECRET"), "missing", "no such object or bucket"),
        (BotoError(404, "NoSuchKey"), "missing", "no such object or bucket"),
        (PermissionError("SECRET"), "denied", "access denied (PermissionError); check the credentials"),
        (
            BotoError(403, "InvalidAccessKeyId"),
            "denied",
            "access denied (InvalidAccessKeyId, HTTP 403); check the credentials",
        ),
        (BotoError(412, "PreconditionFailed"), "changed", fetching.CHANGED),
        (BotoError(400, "Bad SECRET/code"), "other", "it cannot be read (HTTP 400)"),
        (ValueError("SECRET"), "other", "it cannot be read (ValueError)"),
        (ConnectionResetError("SECRET"), "transient", "the store failed (ConnectionResetError)"),
    ],
)
def test_a_problem_is_named_without_the_words_of_the_store(error: Exception, kind: str, message: str) -> None:
    found = translate_problem(error, ADDRESS)
    assert (found.kind, str(found)) == (kind, f"{ADDRESS}: {message}")


def make_input(size: int) -> RemoteInput:
    fields: dict[str, Any] = {"protocol": "s3", "location": "", "path": "a", "fingerprint": ""}
    return RemoteInput(address=ADDRESS, sha256="", size=size, **fields)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [([1, 1, 1], 3), ([None, 1], 1), ([1, None, 1], 1), ([GROUP_BYTES, 1], 1), ([2 * GROUP_BYTES], 1), ([-1, 5], 2)],
)
def test_a_group_is_bounded_in_bytes_and_has_only_remote_inputs(sizes: list[int | None], expected: int) -> None:
    assert count_group([None if size is None else make_input(size) for size in sizes]) == expected


@pytest.mark.req("ROB-1")
def test_a_store_that_sends_objects_as_a_whole_has_the_time_of_the_least_rate(
    monkeypatch: pytest.MonkeyPatch, fetcher: Fetcher
) -> None:
    """As those of Google and Azure do."""
    from fsspec.asyn import AsyncFileSystem

    class SlowBucket(AsyncFileSystem):  # type: ignore[misc]
        async def _cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
            if path == "stalled":
                await asyncio.Event().wait()
            return b"abc"

        async def _info(self, path: str, **_: Any) -> dict[str, Any]:
            return {"name": path, "size": 3, "type": "file", "etag": "version"}

    monkeypatch.setattr("inorder.sources.web.WINDOW_S", 0.1)
    store = BucketStore("gs", SlowBucket(skip_instance_cache=True))
    described = store._describe(store.find("a"))
    assert fetcher.read(store, described, ADDRESS) == b"abc"
    with pytest.raises(RemoteProblem, match=r"3 bytes did not arrive in 0 s; .*fetch_bytes_per_s_min") as caught:
        fetcher.read(store, described._replace(path="stalled"), ADDRESS)
    assert caught.value.kind == "slow"
