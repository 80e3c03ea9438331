"""The bootstrap actor reports what a node lacks, even if inorder is not installed there."""

import inspect
import pickle
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import inorder
from inorder.core.events import Finished, Pulled
from inorder.engines.ray import bootstrap
from inorder.engines.ray.bootstrap import BootstrapActor
from inorder.engines.ray.protocol import Order, SupervisorOptions, decode_report, encode_order
from inorder.version import __version__
from tests.support.gates import no_thread_leaks
from tests.support.misbehaviour import GUARD_S, serve

pytestmark = pytest.mark.process

PLACE = f"node {platform.node()} (Python {platform.python_version()})"
OPTIONS = pickle.dumps(SupervisorOptions())
HAS_US_AND_RAY = f"""
import sys, types
context = types.SimpleNamespace(get_node_id=lambda: "node-1")
sys.modules["ray"] = types.SimpleNamespace(get_runtime_context=lambda: context)
sys.path.append({str(Path(inorder.__file__).parent.parent)!r})
"""
ASK = """
actor = BootstrapActor(b"", b"", WANTED)
actor.submit(b"")
print(actor.poll(None, 0.0))
print(actor.poll(b"", 0.0))
"""


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that seems to have Ray, and a main module that may be changed."""
    context = SimpleNamespace(get_node_id=lambda: "node-1")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get_runtime_context=lambda: context))
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    monkeypatch.setattr(sys, "path", [*sys.path])


def error_on_a_bare_node(wanted: str, has: str = "") -> str:
    """The error of the actor in an interpreter that has only the standard library and this file."""
    source = f"{inspect.getsource(bootstrap)}{has}\nWANTED = {wanted!r}\n{ASK}"
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-"], input=source, capture_output=True, text=True, timeout=GUARD_S
    )
    assert ended.stderr == ""
    first, again = ended.stdout.splitlines()
    assert first == again
    return first


def test_a_node_without_our_package_says_so_and_what_the_driver_has() -> None:
    said = f"{PLACE} does not have inorder; the driver has inorder 9.9.9, and every node needs the same"
    assert error_on_a_bare_node("9.9.9") == said


def test_a_node_without_what_our_package_needs_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = f"the driver has inorder {__version__}, and every node needs the same"
    assert error_on_a_bare_node(__version__, HAS_US_AND_RAY) == f"{PLACE} does not have msgspec; {rest}"
    monkeypatch.setitem(sys.modules, "ray", None)  # type: ignore[arg-type]
    assert BootstrapActor(b"", OPTIONS, __version__).poll(None, 0.0) == f"{PLACE} does not have ray; {rest}"


def test_a_node_with_another_version_says_which() -> None:
    actor = BootstrapActor(b"", OPTIONS, "0.0.1")
    said = f"{PLACE} has inorder {__version__}; the driver has inorder 0.0.1, and every node needs the same"
    assert actor.poll(None, 0.0) == said
    actor.submit(b"not even an order")
    assert actor.poll(None, 0.0) == said


@pytest.mark.usefixtures("node")
def test_a_node_that_cannot_start_a_worker_says_why() -> None:
    said = BootstrapActor(b"", b"\xc1", __version__).poll(None, 0.0)
    assert said.startswith(f"{PLACE} cannot start a worker: UnpicklingError: ")
    assert "\n" not in said


@pytest.fixture
def actor(node: None) -> Iterator[BootstrapActor]:
    with no_thread_leaks():
        actor = BootstrapActor(pickle.dumps(serve), OPTIONS, __version__)
        yield actor
        actor._supervisor.close()


def test_a_node_that_has_everything_starts_a_supervisor(actor: BootstrapActor) -> None:
    said = actor.poll(None, GUARD_S)
    assert type(said) is tuple, "the driver may have another class of that name"
    report, events = decode_report(*said)
    assert report.hello is not None
    assert report.hello.node == "node-1"
    assert events == [Pulled(0)]
    actor.submit(encode_order(Order(0, [(0, 1, pickle.dumps(21))], bytes_max=2**20)))
    answered = decode_report(*actor.poll(None, GUARD_S))[1][0]
    assert isinstance(answered, Finished)
    assert [envelope.payload for envelope in answered.envelopes] == [42]
