"""A run that is killed at any durable operation, and the run after it: the library is that of an undisturbed run."""

import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from inorder.host.filesystem import SystemFilesystem
from inorder.library.sink import LibrarySink
from inorder.library.whole.verify import verify_library
from inorder.pipeline.names import MODELS
from inorder.pipeline.passes import PassRunner
from inorder.runtime.recovery import read_final_marks
from inorder.sinks.manifest import ManifestSink
from tests.documents.embed.servers import Script, serving

from .runs import Library, write

pytestmark = [pytest.mark.process, pytest.mark.req("JRN-7", "PIP-1", "RUN-7")]

NOTE = "# {0}\n\nThe keeper of {0} lights the lamp at dusk, and again at dawn.\n"
STRIDE = 3
"""Every third operation is enough for each run of the tests; 1 is all of them."""
STEPS = ("doctags", "chunk", "index", "embed-dense")


def make_sources(root: Path) -> Path:
    docs = root / "docs"
    write(docs, **{f"{name}.md": NOTE.format(name) for name in ("ash", "birch", "cedar", "elm", "fir")})
    write(docs, **{"copy.md": NOTE.format("ash"), "tool.py": "def light(lamp):\n    return lamp\n"})
    write(docs, **{"broken.pdf": b"%PDF-1.4\nnot really", "photo.png": b"\x89PNG\r\n\x1a\n0000"})
    return docs


def change_sources(docs: Path) -> None:
    (docs / "birch.md").unlink()
    (docs / "cedar.md").rename(docs / "walnut.md")
    write(docs, **{"elm.md": NOTE.format("elm, again"), "oak.md": NOTE.format("oak")})


def die_at(number: int) -> None:
    """Kill this process at the durable operation of this number: half of them before it, half of them after it."""
    operations = count()

    def wrap(owner: type, name: str) -> None:
        inner: Callable[..., Any] = getattr(owner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            place = next(operations)
            if place == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return inner(*arguments, **options)

        setattr(owner, name, call)

    wrap(LibrarySink, "_store")
    wrap(LibrarySink, "publish")
    wrap(LibrarySink, "_sweep")
    wrap(LibrarySink, "close")
    wrap(ManifestSink, "apply")
    wrap(ManifestSink, "sync")
    for name in ("rename", "unlink", "sync_directory", "open"):
        wrap(SystemFilesystem, name)


def run_in_child(library: Library, docs: Path, number: int | None, die: Callable[[int], None] = die_at) -> int:
    """Run in a process of its own, which is killed at a durable operation. Returns how it ended."""
    child = os.fork()
    if not child:
        try:
            if number is not None:
                die(number)
            library.run(docs, fsync="always")
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def count_rows(data: Path) -> dict[str, Counter[str]]:
    """How many rows each file has in each manifest."""
    found = {}
    for step in STEPS:
        lines = (data / f"manifests/{step}.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        found[step] = Counter(row["doc_id"] for row in rows if not row["doc_id"].startswith("__"))
    return found


@pytest.mark.slow
def test_a_killed_run_is_completed_by_the_next(tmp_path: Path) -> None:
    docs = make_sources(tmp_path)
    wanted = Library(tmp_path / "wanted")
    assert run_in_child(wanted, docs, None) == 0
    content, rows = wanted.read_content_hash(), count_rows(wanted.data)
    for number in count(step=STRIDE):
        library = Library(tmp_path / str(number))
        code = run_in_child(library, docs, number)
        assert run_in_child(library, docs, None) == 0, number
        assert library.read_content_hash() == content, number
        assert library.list_copies() == wanted.list_copies()
        assert list(verify_library(str(library.data))) == []
        assert count_rows(library.data) == rows, number
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert number > 20


@pytest.mark.slow
def test_a_killed_update_is_completed_by_the_next(tmp_path: Path) -> None:
    docs = make_sources(tmp_path)
    first = Library(tmp_path / "first")
    assert run_in_child(first, docs, None) == 0
    change_sources(docs)
    wanted = Library(tmp_path / "wanted")
    assert run_in_child(wanted, docs, None) == 0
    for number in (*range(0, 60, 4), None):
        library = Library(tmp_path / str(number))
        shutil.copytree(first.data, library.data)
        run_in_child(library, docs, number)
        assert run_in_child(library, docs, None) == 0
        assert library.read_content_hash() == wanted.read_content_hash(), number
        assert library.list_searchable() == wanted.list_searchable()
        assert list(verify_library(str(library.data))) == []


@pytest.mark.slow
@pytest.mark.parametrize("providers", [("none", "static"), ("static", "none")])
def test_a_killed_run_is_completed_by_one_with_other_families_of_vectors(
    providers: tuple[str, str], tmp_path: Path
) -> None:
    """The next run has other manifests. Rows that were not committed go from those that both have."""
    docs = make_sources(tmp_path)
    wanted = Library(tmp_path / "wanted")
    assert run_in_child(wanted, docs, None) == 0
    rows = count_rows(wanted.data)
    first, second = providers
    for number in range(8, 50, 5):
        data = tmp_path / str(number)
        run_in_child(Library(data, dense=first), docs, number)
        assert run_in_child(Library(data, dense=second), docs, None) == 0, number
        assert run_in_child(Library(data), docs, None) == 0
        assert Library(data).read_content_hash() == wanted.read_content_hash(), number
        found = count_rows(data)
        assert [found[step] for step in STEPS[:3]] == [rows[step] for step in STEPS[:3]], number


def die_in_models(number: int) -> None:
    """Kill this process at a durable operation of the pass of models."""
    run = PassRunner.run

    def call(self: PassRunner, name: str, *arguments: Any, **options: Any) -> Any:
        if name == MODELS:
            die_at(number)
        return run(self, name, *arguments, **options)

    PassRunner.run = call  # type: ignore[method-assign]


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["the same", "another"])
def test_a_run_that_was_killed_in_the_pass_of_models_is_completed_by_the_next(provider: str, tmp_path: Path) -> None:
    """The next run has changed files, which its first pass commits before it comes to the models."""
    docs = make_sources(tmp_path)
    with serving(Script()) as url:
        model = f"tei:{url}"
        first = Library(tmp_path / "first", dense="none")
        assert run_in_child(first, docs, None) == 0
        originals = tmp_path / "originals"
        shutil.copytree(docs, originals)
        change_sources(docs)
        changed = tmp_path / "changed"
        docs.rename(changed)
        for number in count(step=4):
            library = Library(tmp_path / str(number), dense=model)
            shutil.copytree(first.data, library.data)
            shutil.copytree(originals, docs)
            code = run_in_child(library, docs, number, die_in_models)
            shutil.rmtree(docs)
            shutil.copytree(changed, docs)
            second = library if provider == "the same" else Library(library.data, dense="hash:4")
            assert run_in_child(second, docs, None) == 0, number
            wanted = Library(tmp_path / "wanted", dense=second.settings.dense)
            if not number:
                assert run_in_child(wanted, docs, None) == 0
            shutil.rmtree(docs)
            assert second.read_content_hash() == wanted.read_content_hash(), number
            assert list(verify_library(str(library.data))) == []
            assert not (library.data / ".staging/models").exists()
            assert find_unfinished(library.data) == []
            rows = (library.data / "manifests/embed-dense.jsonl").read_text().splitlines()
            runs = [json.loads(row)["doc_id"] for row in rows]
            assert max(Counter(name for name in runs if not name.startswith("__")).values()) <= 2, number
            if code == 0:
                break
            assert code == -signal.SIGKILL
        assert number > 20


def find_unfinished(data: Path) -> list[str]:
    """The journals of runs that have not ended."""
    found = (data / "journal").glob("*.journal")
    return [path.name for path in found if read_final_marks(SystemFilesystem(), str(path)) is None]
