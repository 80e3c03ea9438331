"""The shared status of a worker process, read while it is written."""

import threading
from typing import Any

import pytest

from inorder.engines.process.shared_status import SharedStatus, StatusSnapshot


class Halting:
    """Shared words that call `look` after every store."""

    def __init__(self, words: Any, look: Any) -> None:
        self._words = words
        self._look = look

    def __getitem__(self, index: int) -> int:
        return int(self._words[index])

    def __setitem__(self, index: int, value: int) -> None:
        self._words[index] = value
        self._look()


@pytest.mark.req("RTY-4")
def test_between_any_two_words_of_the_writer_a_reader_sees_one_item_or_none() -> None:
    status, _ = SharedStatus.create()
    seen: list[StatusSnapshot | None] = []
    words = status._words
    reader = SharedStatus.__new__(SharedStatus)
    reader._words = words
    status._words = Halting(words, lambda: seen.append(reader.read()))  # type: ignore[assignment]
    status.begin_item(75, 1, 1_000)
    status.begin_item(76, 2, 9_000)
    status.clear_item()
    assert seen.pop() is None
    assert {found for found in seen if found is not None} == {
        StatusSnapshot(75, 1, 1_000),
        StatusSnapshot(76, 2, 9_000),
    }


@pytest.mark.slow
@pytest.mark.req("RTY-4")
def test_a_writer_and_a_concurrent_reader_never_mix_two_items() -> None:
    status, _ = SharedStatus.create()
    ended = threading.Event()

    def write() -> None:
        for seq in range(1, 200_000):
            status.begin_item(seq, seq + 1, seq + 2)
            if seq % 3 == 0:
                status.clear_item()
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not ended.is_set():
        running = status.read()
        assert running is None or (running.attempt, running.began_ns) == (running.seq + 1, running.seq + 2)
    writer.join()


def test_a_new_block_shows_no_running_item() -> None:
    status, _ = SharedStatus.create()
    assert status.read() is None
    status.begin_batch(3)
    assert status.may_start(2)
    assert not status.may_start(3)
