"""The process of the providers between runs: kept for the next one, replaced if anything about it is another."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from inorder.documents.embed.providers.server.limits import ServerLimits
from inorder.documents.embed.shared import keeping
from inorder.documents.embed.shared.client import RemoteDense, ServiceConnection
from inorder.documents.embed.shared.keeping import keep_providers, open_process, release_process
from inorder.documents.embed.shared.opening import OpenProviders
from inorder.documents.embed.shared.process import ProviderProcess
from inorder.documents.embed.stage import EmbedSettings, plan
from inorder.stage.context import StageContext
from inorder.stage.contracts import Barrier
from inorder.stage.options import StageOptions
from tests.documents.embed.models import onnx_folder
from tests.documents.stage_runs import StageRuns

LIMITS = ServerLimits()


@pytest.fixture
def specs(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The specification of a small model. Nothing is kept when the test begins."""
    assert keeping._keeper is None
    yield {"dense": f"onnx:{onnx_folder(tmp_path / 'model')}"}
    assert keeping._keeper is None


def use(process: ProviderProcess) -> int | None:
    """Embed a text, as a worker process does. Returns the id of the process that did it."""
    assert len(RemoteDense(ServiceConnection(process.address, 1), "dense").embed(["a lamp"])) == 1
    return process.process_id


@pytest.mark.process
def test_a_model_is_loaded_once_for_runs_that_follow_each_other(specs: dict[str, str]) -> None:
    with keep_providers():
        first = open_process(specs, LIMITS)
        pid = use(first)
        release_process(first, is_complete=True)
        second = open_process(specs, LIMITS)
        assert (second, use(second)) == (first, pid)
        release_process(second, is_complete=True)
        assert second.is_usable
    assert not second.is_usable
    assert not os.path.exists(second.address)


def test_without_the_block_a_process_ends_with_its_run(specs: dict[str, str]) -> None:
    process = open_process(specs, LIMITS)
    release_process(process, is_complete=True)
    assert not process.is_usable


def test_a_process_is_replaced_after_a_run_that_failed(specs: dict[str, str]) -> None:
    with keep_providers():
        first = open_process(specs, LIMITS)
        release_process(first, is_complete=False)
        assert not first.is_usable
        second = open_process(specs, LIMITS)
        third = open_process(specs, LIMITS)  # the run before has closed nothing
        assert (second.is_usable, third.is_usable) == (False, True)
    assert not third.is_usable


def test_a_process_is_replaced_if_its_model_or_its_limits_have_changed(specs: dict[str, str], tmp_path: Path) -> None:
    with keep_providers():
        first = open_process(specs, LIMITS)
        release_process(first, is_complete=True)
        second = open_process(specs, ServerLimits(texts_max=7))
        assert (first.is_usable, second.is_usable) == (False, True)
        release_process(second, is_complete=True)
        (tmp_path / "model" / "more.json").write_text("{}")
        third = open_process(specs, ServerLimits(texts_max=7))
        assert (second.is_usable, third.is_usable) == (False, True)


def open_providers(specs: dict[str, str], data: Path) -> tuple[OpenProviders, ProviderProcess]:
    opened = OpenProviders(specs, LIMITS)
    opened.open_in_driver(StageContext("embed", StageOptions(data=data, policy="gpu"), {}))
    assert isinstance(opened._process, ProviderProcess)
    return opened, opened._process


@pytest.mark.process
def test_a_process_ends_when_all_documents_are_embedded(specs: dict[str, str], tmp_path: Path) -> None:
    opened, process = open_providers(specs, tmp_path)
    try:
        opened.end_embedding()
        assert process.is_usable, "nothing was embedded, and the run may start over"
        use(process)
        opened.end_embedding()
        assert not process.is_usable
    finally:
        process.close()
    assert not os.path.exists(process.address)


@pytest.mark.process
def test_a_process_that_is_kept_does_not_end_when_all_documents_are_embedded(
    specs: dict[str, str], tmp_path: Path
) -> None:
    with keep_providers():
        opened, process = open_providers(specs, tmp_path)
        use(process)
        opened.end_embedding()
        assert process.is_usable


def test_the_last_item_is_planned_when_all_documents_are_embedded(tmp_path: Path) -> None:
    runs = StageRuns(tmp_path)
    runs.write("docs/a.md", "# one\n\ntext\n")
    runs.doctags()
    runs.chunk()
    seen: list[str] = []
    note = seen.append
    for item in plan(EmbedSettings(), {"dense": "hash"}, [], runs.data, on_embedded=lambda: note("embedded")).items:
        note("barrier" if isinstance(item, Barrier) else item.item_id)
    assert seen == ["dense/docs/a.md", "barrier", "embedded", "__corpus__"]
