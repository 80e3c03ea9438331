"""A source that is forgotten: its files, its rows and its name go, and those of others stay."""

import os
import shutil
import signal
from itertools import count
from pathlib import Path

import pytest

from inorder.errors import OperatorError
from inorder.library.whole.verify import verify_library
from inorder.pipeline.outcome import FileCounts
from tests.library.libraries import NOT_NAMED, find_problems

from .runs import Library, write
from .test_kills import die_at

NOTE = "# {0}\n\nThe keeper of {0} lights the lamp at dusk.\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    write(tmp_path / "docs", **{f"{name}.md": NOTE.format(name) for name in ("ash", "birch", "cedar")})
    write(tmp_path / "docs", **{"photo.png": b"\x89PNG\r\n\x1a\n0000", "broken.pdf": b"%PDF-1.4\nnot really"})
    return tmp_path / "docs"


@pytest.fixture
def more(tmp_path: Path) -> Path:
    """Another source, which has a copy of a document of the first one."""
    write(tmp_path / "more", **{"ash.md": NOTE.format("ash"), "oak.md": NOTE.format("oak")})
    return tmp_path / "more"


def make_fresh(tmp_path: Path, *kept: Path) -> Library:
    fresh = Library(tmp_path / "fresh")
    fresh.run(*kept)
    return fresh


def assert_as_if_never_there(library: Library, fresh: Library) -> None:
    """Compare with a library of what is kept alone."""
    assert library.read_content_hash() == fresh.read_content_hash()
    assert library.list_searchable() == fresh.list_searchable()
    assert library.list_sources() == fresh.list_sources()
    assert library.list_failures() == fresh.list_failures()
    assert library.list_copies() == []
    assert list(verify_library(str(library.data))) == []


@pytest.mark.slow
@pytest.mark.req("PIP-4")
def test_a_forgotten_source_was_never_there(docs: Path, more: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "data")
    library.run(docs, more)
    assert library.list_copies() == [("more/ash.md", "docs/ash.md")]
    outcome = library.run(forgets="docs")
    assert outcome.counts == FileCounts(changed=1, removed=5), "the copy is a document now"
    assert_as_if_never_there(library, make_fresh(tmp_path, more))
    assert library.run(more).counts == FileCounts(unchanged=2)
    assert library.run(docs).counts == FileCounts(new=3, failed=1, not_read=1), "it may come again"


@pytest.mark.slow
@pytest.mark.req("PIP-4")
def test_a_source_that_is_gone_can_be_forgotten(docs: Path, more: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "data")
    library.run(docs, more)
    docs.rename(tmp_path / "away")
    library.run(forgets="docs")
    assert_as_if_never_there(library, make_fresh(tmp_path, more))


@pytest.mark.slow
@pytest.mark.req("CLI-1")
def test_an_unknown_name_is_refused(docs: Path, tmp_path: Path) -> None:
    library = Library(tmp_path / "data")
    library.run(docs)
    with pytest.raises(OperatorError, match="no source has the name 'other'; sources: docs"):
        library.run(forgets="other")
    assert library.list_sources() == ["docs"]


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.req("JRN-7", "PIP-4")
def test_a_killed_forgetting_is_completed_by_the_next(docs: Path, more: Path, tmp_path: Path) -> None:
    fresh, first = make_fresh(tmp_path, more), Library(tmp_path / "first")
    assert _run_in_child(first, None, docs, more) == 0
    codes, left = [], set[str]()
    for number in count(step=3):
        library = Library(tmp_path / f"data{number}")
        shutil.copytree(first.data, library.data)
        codes.append(_run_in_child(library, number))
        left.update(finding.problem for finding in find_problems(library.data))
        sources = (more,) if "docs" not in library.list_sources() else ()
        assert _run_in_child(library, None, *sources) == 0
        assert find_problems(library.data) == []
        assert_as_if_never_there(library, fresh)
        if codes[-1] == 0:
            break
    assert set(codes[:-1]) == {-signal.SIGKILL}
    assert len(codes) > 5
    assert left <= {NOT_NAMED}


def _run_in_child(library: Library, number: int | None, *sources: Path) -> int:
    """Run, or forget without sources, in a process of its own. Returns how it ended."""
    child = os.fork()
    if not child:
        try:
            if number is not None:
                die_at(number)
            library.run(*sources, forgets="" if sources else "docs", fsync="always")
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
