"""What a fuzzer has found is read, or refused with a reason, each time: see `tools/fuzz.py`."""

import base64
import signal
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from tests.fuzz.targets import TARGETS, refusals

FOUND = Path(__file__).parent / "found"
ITEM_S_MAX = 20
"""A thousand times what an input takes; one that hangs fails its test, and not the whole run."""


def read_found(name: str) -> list[bytes]:
    return [base64.b64decode(line) for line in (FOUND / f"{name}.txt").read_text("ascii").splitlines()]


@contextmanager
def time_limit(name: str, data: bytes) -> Iterator[None]:
    def fail(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"{name} takes more than {ITEM_S_MAX} s for {data!r}")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(ITEM_S_MAX)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
@pytest.mark.req("DOC-1", "ROB-1")
@pytest.mark.parametrize("name", TARGETS)
def test_what_a_fuzzer_has_found_is_read_or_refused(name: str) -> None:
    target = TARGETS[name]
    found = read_found(name)
    assert found
    for data in found:
        with time_limit(name, data):
            target.check(data)


def test_each_target_has_what_was_found_and_nothing_else_is_kept() -> None:
    assert {path.stem for path in FOUND.iterdir()} == set(TARGETS)
    assert sum(path.stat().st_size for path in FOUND.iterdir()) < 1_500_000


def test_a_check_notices_what_a_parser_does_not_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cause of three findings: an exception of a library that is not the one for damaged input."""

    def raise_other(*_: object) -> None:
        raise KeyError("of a library")

    monkeypatch.setattr(tomllib, "loads", raise_other)
    with pytest.raises(KeyError, match="of a library"):
        TARGETS["settings"].check(b"")


def test_a_refusal_has_one_line() -> None:
    with pytest.raises(AssertionError, match="several lines"), refusals(ValueError):
        raise ValueError("one\ntwo")
    with pytest.raises(AssertionError, match="without a reason"), refusals(ValueError):
        raise ValueError
