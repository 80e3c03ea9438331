"""Objects of remote sources are compared by version, and fetched if their name says that they may be documents."""

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inorder.documents.chunk.settings import ChunkSettings
from inorder.documents.inputs import read_content_of
from inorder.errors import InorderError
from inorder.pipeline.outcome import FileCounts
from inorder.pipeline.remote import count_remote, fetch_remote, list_remote
from inorder.pipeline.resources import VisitResources
from inorder.pipeline.sources.names import SourcePart
from inorder.pipeline.steps import PipelineSettings
from inorder.pipeline.visit import FILE, RESOURCES
from inorder.sources import fetching
from inorder.sources.limits import FetchLimits
from inorder.stage.contracts import WorkItem
from tests.sources.bucket import Bucket

from .runs import Library, count_steps

pytestmark = [pytest.mark.req("PIP-3"), pytest.mark.slow]
OBJECTS = {
    "a.md": b"# Lamps\n\nLit at dusk.\n",
    "b/c.txt": b"The fog horn is started when the fog comes in.\n",
    "letter": b"%PDF-1.4\nnot really",
    "log": b"\0\1\2\3" * 100,
    "page": b"<html><body><p>The keeper lights the lamp.</p></body></html>",
    "tool.xyz": b"no reader knows it",
}


@pytest.fixture
def bucket(tmp_path: Path) -> Any:
    bucket = Bucket(tmp_path)
    bucket.put(OBJECTS)
    yield bucket
    bucket.filesystem.store.clear()


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "data")


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses of the objects whose content was requested."""
    found: list[str] = []
    monkeypatch.setattr(fetching, "_read", _note(found, fetching._read))
    return found


def _note(found: list[str], function: Any) -> Any:
    def read(store: Any, source: Any, address: str, *rest: Any) -> Any:
        found.append(address)
        return function(store, source, address, *rest)

    return read


ADDRESS = "memory://bucket"


def test_objects_are_read_by_what_they_are(bucket: Bucket, library: Library, fetched: list[str]) -> None:
    outcome = library.run(ADDRESS)
    assert outcome.counts == FileCounts(new=3, not_read=2, failed=1)
    assert library.list_searchable() == ["bucket/a.md", "bucket/b/c.txt", "bucket/page"]
    assert library.list_failures() == [("bucket/letter", "doctags", "input")]
    assert f"{ADDRESS}/tool.xyz" not in fetched
    assert {".xyz": 1} in outcome.not_read.values()
    assert {"log": 1} in outcome.not_read.values()


def test_a_rerun_fetches_nothing(bucket: Bucket, library: Library, fetched: list[str]) -> None:
    library.run(ADDRESS)
    before = library.read_content_hash()
    fetched.clear()
    outcome = library.run(ADDRESS)
    assert outcome.counts == FileCounts(unchanged=3, not_read=2, failed=1)
    assert (outcome.steps, fetched) == ({}, [])
    assert library.read_content_hash() == before


def test_steps_after_the_reader_fetch_nothing(bucket: Bucket, library: Library, fetched: list[str]) -> None:
    library.run(ADDRESS)
    fetched.clear()
    assert count_steps(Library(library.data, chunk=ChunkSettings(tokens_max=2)).run(ADDRESS))["chunk"] == 3
    assert fetched == []


@pytest.mark.slow
def test_an_update_equals_a_build_from_scratch(bucket: Bucket, library: Library, tmp_path: Path) -> None:
    library.run(ADDRESS)
    bucket.put({"a.md": b"# Lamps\n\nLit at dawn.\n", "d.md": b"# New\n"})
    bucket.remove("b/c.txt")
    outcome = library.run(ADDRESS)
    assert outcome.counts == FileCounts(new=1, changed=1, unchanged=1, not_read=2, failed=1, removed=1)
    fresh = Library(tmp_path / "fresh")
    fresh.run(ADDRESS)
    assert library.read_content_hash() == fresh.read_content_hash()


def test_a_new_version_with_the_same_content_runs_no_step(bucket: Bucket, library: Library) -> None:
    library.run(ADDRESS)
    bucket.put({"a.md": OBJECTS["a.md"]})
    outcome = library.run(ADDRESS)
    assert outcome.counts == FileCounts(unchanged=3, not_read=2, failed=1)
    assert outcome.steps == {}


def test_a_source_that_cannot_be_listed_removes_nothing(
    bucket: Bucket, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.run(ADDRESS)
    searchable = library.list_searchable()
    with monkeypatch.context() as patch:
        patch.setattr(type(bucket.filesystem), "_strip_protocol", _refuse)
        with pytest.raises(InorderError):
            library.run(ADDRESS)
    bucket.filesystem.store.clear()
    with pytest.raises(InorderError, match="memory://bucket"):
        library.run(ADDRESS)
    assert library.list_searchable() == searchable


def _refuse(*arguments: Any) -> Any:
    raise PermissionError("no entry")


def test_the_order_of_quoted_keys_is_that_of_the_ids(bucket: Bucket, library: Library) -> None:
    bucket.put({"x\u0001.md": b"# One\n", "x!.md": b"# Two\n", "x#.md": b"# Three\n", "x%.md": b"# Four\n"})
    assert library.run(ADDRESS).counts.new == 7
    assert library.run(ADDRESS).counts.unchanged == 7


def test_a_source_can_be_one_object(bucket: Bucket, library: Library) -> None:
    assert library.run(f"{ADDRESS}/a.md").counts == FileCounts(new=1)
    assert library.list_searchable() == ["a.md"]
    assert library.run(f"{ADDRESS}/a.md").counts == FileCounts(unchanged=1)


def test_local_files_are_no_copies_of_objects(bucket: Bucket, library: Library, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_bytes(OBJECTS["a.md"])
    library.run(ADDRESS)
    assert library.run(docs).counts == FileCounts(new=1)


def test_objects_are_fetched_ahead_within_the_limits(bucket: Bucket, tmp_path: Path, fetched: list[str]) -> None:
    settings = PipelineSettings(fetch_concurrency=2, fetch_rate=1000)
    listed = [file for file in list_remote(SourcePart("bucket", ADDRESS), FetchLimits()) if file.content is not None]
    items = [WorkItem(item_id=file.item_id, inputs={FILE: file.content.source}) for file in listed if file.content]
    local = WorkItem(item_id="local", inputs={FILE: str(tmp_path)})
    assert count_remote([*items, local]) == len(items) == len(OBJECTS)
    with closing(VisitResources(settings, workers=4)) as resources:
        assert resources.fetcher.limits == FetchLimits(concurrency=2, rate_per_s=250)
        context: Any = SimpleNamespace(resources={RESOURCES: resources})
        fetch_remote(items, context)
        assert sorted(fetched) == [f"{ADDRESS}/{key}" for key in sorted(OBJECTS)]
        fetched.clear()
        assert [read_content_of(item.inputs[FILE], resources.fetcher) for item in items] == list(OBJECTS.values())
        assert fetched == []


@pytest.mark.req("CLI-4")
def test_a_retry_fetches_the_failed_objects_and_no_other(bucket: Bucket, library: Library, fetched: list[str]) -> None:
    library.run(ADDRESS)
    fetched.clear()
    assert library.run(retries=True).counts == FileCounts(failed=1)
    assert set(fetched) == {f"{ADDRESS}/letter"}
    bucket.put({"letter": b"# A letter\n\nThe lamp is lit.\n"})
    assert library.run(retries=True).counts == FileCounts(changed=1)
    assert "bucket/letter" in library.list_searchable()


@pytest.mark.req("CLI-4")
def test_a_retry_after_a_failed_step_fetches_the_object_only_if_it_must(
    bucket: Bucket, library: Library, fetched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("inorder.documents.chunk.step.chunk", _raise)
        assert library.run(ADDRESS).counts.failed == 4
    fetched.clear()
    assert library.run(retries=True).counts == FileCounts(changed=3, failed=1)
    assert set(fetched) == {f"{ADDRESS}/letter"}


def test_a_run_without_sources_fetches_what_a_step_reads(bucket: Bucket, library: Library) -> None:
    library.run(ADDRESS)
    before = library.read_content_hash()
    bucket.filesystem.rm("/bucket/page")
    assert library.run(force=True).counts == FileCounts(changed=2, unchanged=1, failed=1, not_read=2)
    assert library.read_content_hash() == before


def _raise(*arguments: Any) -> Any:
    raise RuntimeError("out of luck")
