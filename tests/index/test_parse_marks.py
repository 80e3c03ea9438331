"""The mark of a file that is being parsed stays if the parse does not come to its end."""

import os
import threading
from pathlib import Path

import pytest

from inorder.index.parse_marks import is_marked, mark_parsing

pytestmark = pytest.mark.req("IDX-4")


@pytest.fixture
def marker(tmp_path: Path) -> str:
    return f"{tmp_path}/parsing-a1b2"


@pytest.fixture
def other(tmp_path: Path) -> str:
    return f"{tmp_path}/parsing-a1b"


def test_a_mark_is_there_during_the_block_and_not_after_it(marker: str, other: str) -> None:
    assert not is_marked(marker)
    with mark_parsing(marker):
        assert is_marked(marker)
        assert not is_marked(other)
    assert not is_marked(marker)


def test_a_mark_stays_when_the_block_raises_and_its_process_goes_on(marker: str, other: str) -> None:
    with pytest.raises(MemoryError), mark_parsing(marker):
        raise MemoryError
    with mark_parsing(other):
        assert is_marked(marker)
    assert is_marked(marker)
    assert not is_marked(other)


def test_each_thread_has_its_own_mark(marker: str, other: str) -> None:
    entered, leave = threading.Event(), threading.Event()

    def parse() -> None:
        with mark_parsing(marker):
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=parse)
    thread.start()
    assert entered.wait(60)
    with mark_parsing(other):
        assert is_marked(marker)
    assert is_marked(marker)
    leave.set()
    thread.join()
    assert not is_marked(marker)


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs copies of a process")
def test_a_process_that_is_killed_leaves_its_mark_and_no_other_process_removes_it(marker: str, other: str) -> None:
    child = os.fork()
    if not child:
        with mark_parsing(marker):
            os._exit(9)
    os.waitpid(child, 0)
    with mark_parsing(other):
        assert is_marked(marker)
    assert is_marked(marker)
