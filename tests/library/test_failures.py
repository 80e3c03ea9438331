"""A step that fails: what the steps before it made is kept, and what it and later ones had made goes."""

from pathlib import Path

import pytest

from tests.library.libraries import apply, describe, find, opened, reading, write
from tests.library.making import failed, make_document, make_failure


@pytest.mark.req("COM-2")
def test_a_failed_entry_applies_what_its_worker_handed_over(tmp_path: Path) -> None:
    with opened(tmp_path) as sink:
        apply(sink, [failed(0, make_failure(make_document("docs/a", "lamp"), "index"))])
        sink.publish()
    with reading(tmp_path) as reader:
        assert list(reader.list_visible("chunk")) == ["docs/a"]
        assert list(reader.list_visible("index")) == []
        file = reader.get_file("docs/a")
        [failure] = reader.list_failures()
        assert reader.count_items() == {"failed": 1}
    assert file is not None
    assert file.states["chunk"].output is not None
    assert file.states["index"].output is None
    assert (failure.item_id, failure.step, failure.category) == ("docs/a", "index", "input")
    assert (failure.message, failure.detail) == ("cannot be read", "trace")
    describe(tmp_path)


@pytest.mark.req("COM-2")
def test_the_results_of_the_failed_step_and_of_those_after_it_go_with_the_publication(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "yellow lamp", spec="hash:4"))
    changed = make_failure(make_document("docs/a", "pale moon"), "chunk", ["index", "embed:dense"])
    with opened(tmp_path) as sink:
        apply(sink, [failed(0, changed)])
        assert [text for _, text, _ in find(tmp_path, "lamp")] == ["yellow lamp"]
        sink.publish()
        assert find(tmp_path, "lamp") == []
    with reading(tmp_path) as reader:
        file = reader.get_file("docs/a")
        document = reader.read_result("docs/a", "doctags")
        assert reader.read_result("docs/a", "chunk") is None
        assert reader.read_result("docs/a", "embed:dense") is None
    assert file is not None
    assert file.states.keys() == {"doctags", "chunk"}
    assert document is not None
    assert b"pale moon" in document.content
    describe(tmp_path)


@pytest.mark.req("COM-2")
def test_a_file_keeps_its_results_if_a_server_has_failed(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "yellow lamp", spec="hash:4"))
    before = describe(tmp_path, "lamp")
    down = make_failure(make_document("docs/a", "yellow lamp"), "embed:dense", ["index"], is_outside=True)
    with opened(tmp_path) as sink:
        apply(sink, [failed(0, down)])
        sink.finish()
    assert describe(tmp_path, "lamp") == before
    with reading(tmp_path) as reader:
        [failure] = reader.list_failures()
        file = reader.get_file("docs/a")
    assert failure.is_outside
    assert file is not None
    assert file.states["embed:dense"].output is not None


def test_a_failure_is_forgotten_when_the_step_succeeds(tmp_path: Path) -> None:
    document = make_document("docs/a", "lamp")
    with opened(tmp_path) as sink:
        apply(sink, [failed(0, make_failure(document, "doctags"))])
        apply(sink, [failed(1), failed(2)])
    with reading(tmp_path) as reader:
        assert len(list(reader.list_failures())) == 1
    write(tmp_path, document)
    with reading(tmp_path) as reader:
        assert list(reader.list_failures()) == []
        assert reader.count_items() == {"read": 1}


def test_a_failure_without_a_result_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, make_document("docs/a", "lamp"))
    before = describe(tmp_path)
    with opened(tmp_path) as sink:
        apply(sink, [failed(0)])
        assert not sink.publish()
    assert describe(tmp_path) == before
