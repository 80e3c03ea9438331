"""The first thing of ours on a node: it speaks before anything of ours is known to be there."""

import inspect
import pickle
import platform
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import msgspec
import pytest

from inorder.core.events import Finished, Pulled
from inorder.engines import ray_post
from inorder.engines.ray_post import Post
from inorder.engines.telegraph import ForemanOptions, Order, encoded, understood
from inorder.version import __version__
from tests.engines.misbehaviour import GUARD_S, serve
from tests.gates import nobody_left_behind

PLACE = f"node {platform.node()} (Python {platform.python_version()})"
OPTIONS = msgspec.msgpack.encode(ForemanOptions())
ASK = """
post = Post(b"", b"", "9.9.9")
post.obey(b"")
print(post.listen(None, 0.0))
print(post.listen(b"", 0.0))
"""


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has Ray, as far as a post can tell, and a main module to be altered."""
    context = SimpleNamespace(get_node_id=lambda: "node-1")
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get_runtime_context=lambda: context))
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    monkeypatch.setattr(sys, "path", [*sys.path])


def test_a_node_without_our_package_says_so_and_what_the_driver_has() -> None:
    source = inspect.getsource(ray_post)
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-"], input=source + ASK, capture_output=True, text=True, timeout=GUARD_S
    )
    said = f"{PLACE} has no inorder; the driver has inorder 9.9.9, and every node needs the same\n"
    assert (ended.stdout, ended.stderr) == (said * 2, "")


@pytest.mark.parametrize("package", ["msgspec", "ray"])
def test_a_node_without_what_our_package_needs_names_it(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # type: ignore[arg-type]
    said = Post(b"", OPTIONS, __version__).listen(None, 0.0)
    assert said == f"{PLACE} has no {package}; the driver has inorder {__version__}, and every node needs the same"


def test_a_node_with_another_version_says_which() -> None:
    post = Post(b"", OPTIONS, "0.0.1")
    said = f"{PLACE} has inorder {__version__}; the driver has inorder 0.0.1, and every node needs the same"
    assert post.listen(None, 0.0) == said
    post.obey(b"not even an order")
    assert post.listen(None, 0.0) == said


@pytest.mark.usefixtures("node")
def test_a_node_that_cannot_keep_a_worker_says_why() -> None:
    said = Post(b"", b"\xc1", __version__).listen(None, 0.0)
    assert said.startswith(f"{PLACE} cannot keep a worker: DecodeError: ")
    assert "\n" not in said


@pytest.fixture
def post(node: None) -> Iterator[Post]:
    with nobody_left_behind():
        post = Post(pickle.dumps(serve), OPTIONS, __version__)
        yield post
        post._foreman.close()


def test_a_node_that_has_everything_hires_a_foreman(post: Post) -> None:
    said = post.listen(None, GUARD_S)
    assert type(said) is tuple, "the driver may have another class of that name"
    report, events = understood(*said)
    assert report.hello is not None
    assert report.hello.node == "node-1"
    assert events == [Pulled(0)]
    post.obey(encoded(Order(0, [(0, 1, pickle.dumps(21))], bytes_max=2**20)))
    answered = understood(*post.listen(None, GUARD_S))[1][0]
    assert isinstance(answered, Finished)
    assert [envelope.payload for envelope in answered.envelopes] == [42]
