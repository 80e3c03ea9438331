"""Errors of a cluster: one line, the right exit code, and soon."""

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray

import inorder.engines.ray.engine
from inorder import RunOptions, imap
from inorder.engines.ray.cluster import _require_reachable
from inorder.engines.ray.options import RayOptions
from inorder.errors import InfrastructureError, OperatorError
from tests.ray.machines import Machines
from tests.ray.meanwhile import Meanwhile
from tests.support.command_line import CommandLine
from tests.support.misbehaviour import serve
from tests.support.python_path import prepend_path


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[CommandLine]:
    cli = CommandLine(tmp_path)
    cli.sources("one", "two")
    yield cli
    cli.close()


def error_line(cli: CommandLine, *options: str, code: int, **environment: str) -> str:
    """The error line of the command."""
    ended = cli.run("stage", "jobs:count", "sources", "--engine", "ray", *options, **environment)
    lines = ended.err.strip().splitlines()
    assert ended.code == code, ended.err
    assert len(lines) == 1, ended.err
    assert lines[0].startswith("inorder: ")
    return lines[0]


@pytest.fixture
def deaf() -> Iterator[int]:
    """The port of a server that accepts connections and never replies."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_no_cluster_at_the_address(cli: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    said = error_line(cli, "--set", f"ray_address=127.0.0.1:{port}", code=1)
    assert f"no Ray cluster at 127.0.0.1:{port}" in said


def test_a_cluster_of_this_machine_alone_that_has_no_room_is_not_waited_for(cli: CommandLine) -> None:
    said = error_line(cli, "--set", "ray_cpus=5000", code=2)
    assert "a worker needs 5000 CPU; the cluster has 1 node with " in said


def test_a_server_that_never_replies(cli: CommandLine, deaf: int) -> None:
    said = error_line(cli, "--set", f"ray_address=127.0.0.1:{deaf}", code=1)
    assert f"no Ray cluster at 127.0.0.1:{deaf}: timed out" in said


def test_a_server_of_another_protocol(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        with (
            Meanwhile(answer),
            pytest.raises(InfrastructureError, match="the server is not a Ray head node"),
        ):
            _require_reachable(f"{host}:{port}")


@pytest.mark.parametrize("address", ["nonsense", ":6379", "host:port", "127.0.0.1:"])
def test_an_invalid_address(cli: CommandLine, address: str) -> None:
    assert "HOST:PORT or auto" in error_line(cli, "--set", f"ray_address={address}", code=2)


def test_the_address_of_a_ray_client(cli: CommandLine) -> None:
    assert "run this command on a machine of the cluster" in error_line(
        cli, "--set", "ray_address=ray://somewhere:1", code=2
    )


def test_an_address_in_the_environment_is_the_one_that_is_used(cli: CommandLine) -> None:
    said = error_line(cli, code=2, RAY_ADDRESS="nonsense")
    assert "got 'nonsense'" in said


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--set", "ray_cpus=0"),
        ("--set", "ray_cpus=-1"),
        ("--set", "ray_gpus=nan"),
        ("--set", "ray_resources=special"),
        ("--set", "ray_files=pigeon"),
        ("--set", "ray_send_bytes_max=-5"),
    ],
)
def test_an_invalid_option(cli: CommandLine, option: str, value: str) -> None:
    ended = cli.run("stage", "jobs:count", "sources", "--engine", "ray", option, value)
    assert ended.code == 2, ended.err
    assert "Traceback" not in ended.err


def test_another_cluster_than_the_one_that_this_process_belongs_to(machines: Machines) -> None:
    list(imap(serve, [1], workers=1, where="ray", options=RunOptions(ray=machines.options())))
    with pytest.raises(OperatorError, match="already connected to the cluster"):
        imap(serve, [1], where="ray", options=RunOptions(ray=RayOptions(address="127.0.0.1:1")))


def test_a_node_with_another_version(machines: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inorder.engines.ray.engine, "__version__", "99.0")
    with pytest.raises(InfrastructureError) as caught:
        list(imap(serve, range(5), workers=2, where="ray", options=RunOptions(ray=machines.options())))
    said = str(caught.value)
    assert "the driver has inorder 99.0, and every node needs the same" in said
    assert "\n" not in said


@pytest.fixture
def ghost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], int]:
    """A function of a module that only this process has."""
    (tmp_path / "module_of_a_ghost.py").write_text("def haunt(number):\n    return number\n")
    monkeypatch.syspath_prepend(tmp_path)
    function: Callable[[int], int] = __import__("module_of_a_ghost").haunt
    (tmp_path / "module_of_a_ghost.py").unlink()
    for compiled in (tmp_path / "__pycache__").glob("*"):
        compiled.unlink()
    return function


def test_a_node_without_the_module_of_the_function(machines: Machines, ghost: Any) -> None:
    with pytest.raises(InfrastructureError) as caught:
        list(imap(ghost, range(5), workers=2, where="ray", options=RunOptions(ray=machines.options())))
    said = str(caught.value)
    assert "No module named 'module_of_a_ghost'" in said
    assert "every node needs the packages" in said
    assert "\n" not in said


def test_a_function_that_cannot_be_sent(machines: Machines) -> None:
    held = threading.Lock()
    with pytest.raises(OperatorError, match="cannot be sent to a worker process"):
        imap(lambda item: held, range(3), where="ray", options=RunOptions(ray=machines.options()))


def test_a_function_of_the_calling_script_travels(machines: Machines) -> None:
    factor = 3
    assert list(
        imap(lambda item: item * factor, range(5), workers=1, where="ray", options=RunOptions(ray=machines.options()))
    ) == [
        0,
        3,
        6,
        9,
        12,
    ]


def test_ray_that_is_not_installed(cli: CommandLine) -> None:
    """A module on the path hides the installed one."""
    (cli.folder / "ray.py").write_text("raise ImportError('no ray here')\n")
    said = error_line(cli, code=2, PYTHONPATH=prepend_path(cli.folder))
    assert said == "inorder: Ray is not installed; install it with: pip install 'inorder[ray]'"


def test_an_iteration_that_was_disconnected_starts_no_other_cluster(machines: Machines) -> None:
    iteration: Any = imap(serve, range(1000), workers=1, where="ray", options=RunOptions(ray=machines.options()))
    assert next(iteration) == 0
    ray.shutdown()
    iteration.close()
    assert not ray.is_initialized()
