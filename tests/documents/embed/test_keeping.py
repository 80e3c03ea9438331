"""The process of the providers between runs: kept for the next one, replaced if anything about it is another."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from inorder.documents.embed.shared.client import RemoteDense, ServiceConnection
from inorder.documents.embed.shared.process import ProviderKeeper, ProviderProcess
from inorder.models.limits import ServerLimits
from tests.documents.embed.models import onnx_folder

LIMITS = ServerLimits()


@pytest.fixture
def specs(tmp_path: Path) -> dict[str, str]:
    """The specification of a small model."""
    return {"dense": f"onnx:{onnx_folder(tmp_path / 'model')}"}


def use(process: ProviderProcess) -> int | None:
    """Embed a text, as a worker process does. Returns the id of the process that did it."""
    assert len(RemoteDense(ServiceConnection(process.address, 1), "dense").embed(["a lamp"])) == 1
    return process.process_id


@pytest.mark.process
def test_a_model_is_loaded_once_for_runs_that_follow_each_other(specs: dict[str, str]) -> None:
    with closing(ProviderKeeper()) as keeper:
        first = keeper.open(specs, LIMITS)
        pid = use(first)
        keeper.release(keeps=True)
        second = keeper.open(specs, LIMITS)
        assert (second, use(second)) == (first, pid)
        keeper.release(keeps=True)
        assert second.is_usable
    assert not second.is_usable
    assert not os.path.exists(second.address)


def test_a_process_is_replaced_after_a_run_that_failed(specs: dict[str, str]) -> None:
    with closing(ProviderKeeper()) as keeper:
        first = keeper.open(specs, LIMITS)
        keeper.release(keeps=False)
        assert not first.is_usable
        second = keeper.open(specs, LIMITS)
        third = keeper.open(specs, LIMITS)  # the run before has closed nothing
        assert (second.is_usable, third.is_usable) == (False, True)
    assert not third.is_usable


def test_a_process_is_replaced_if_its_model_or_its_limits_have_changed(specs: dict[str, str], tmp_path: Path) -> None:
    with closing(ProviderKeeper()) as keeper:
        first = keeper.open(specs, LIMITS)
        keeper.release(keeps=True)
        second = keeper.open(specs, ServerLimits(texts_max=7))
        assert (first.is_usable, second.is_usable) == (False, True)
        keeper.release(keeps=True)
        (tmp_path / "model" / "more.json").write_text("{}")
        third = keeper.open(specs, ServerLimits(texts_max=7))
        assert (second.is_usable, third.is_usable) == (False, True)
