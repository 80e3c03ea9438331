"""The command as a whole: its help, its shell completion, and how quickly it answers."""

import subprocess
import sys
from typing import Any

import pytest
import typer

from inorder.cli.options import SHARED
from tests.cli.desk import GUARD_S, Desk, clean_environment
from tests.tidy.test_import import HEAVY, modules_loaded_by

pytestmark = pytest.mark.req("CLI-1")

OURS = ["run", "doctags", "chunk", "embed", "index", "search", "symbols", "graph", "mcp"]
LOOKING = ["plan", "failures", "retry", "explain", "verify", "inspect", "manifest", "journal", "config"]
COMMANDS = [*OURS, "stage", *LOOKING]
RUNNING = ["run", "doctags", "chunk", "embed", "index", "stage", "retry", "config show"]


def test_without_arguments_there_is_help(desk: Desk) -> None:
    ended = desk.run()
    assert "Usage: inorder [OPTIONS] COMMAND [ARGS]..." in ended.out + ended.err


def test_help_names_every_command(desk: Desk) -> None:
    ended = desk.run("--help")
    assert ended.code == 0
    named = [line.split()[0] for line in ended.out.partition("Commands:")[2].splitlines() if line.strip()]
    assert [name for name in named if name in COMMANDS] == COMMANDS


@pytest.mark.parametrize("command", RUNNING)
def test_every_command_that_runs_has_the_same_options_with_the_same_words(desk: Desk, command: str) -> None:
    shown = " ".join(desk.run(*command.split(), "--help", COLUMNS="500").out.split())
    for option in SHARED.values():
        assert option.flag in shown
        assert f"{option.help} Default: {option.default}." in shown
    assert "--json" in shown


def test_every_command_explains_itself_and_each_of_its_options() -> None:
    from inorder.cli.command_group import app

    group: Any = typer.main.get_command(app)
    assert list(group.commands) == COMMANDS
    for command in (*group.commands.values(), *group.commands["config"].commands.values()):
        assert command.help
        assert [one.name for one in command.params if not one.help] == [], f"{command.name} does not explain these"


def test_a_command_that_does_not_exist_is_a_mistake_of_usage(desk: Desk) -> None:
    ended = desk.run("stgae")
    assert (ended.code, ended.out) == (2, "")
    assert "No such command 'stgae'" in ended.err
    assert desk.run("stage", "--wrokers", "2", "jobs:count").code == 2


def test_the_package_itself_can_be_run_with_workers_too(desk: Desk) -> None:
    desk.sources("one", "two")
    ended = subprocess.run(
        [sys.executable, "-m", "inorder", "stage", "jobs:count", "sources", "--policy", "cpu", "--workers", "1"],
        cwd=desk.folder,
        env=clean_environment(),
        capture_output=True,
        timeout=GUARD_S,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, b"")
    assert len(desk.rows()) == 2


def completed(desk: Desk, words: str) -> list[str]:
    """What a shell offers to go on with."""
    environment = {
        "_INORDER_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    return desk.run(**environment).out.split()


def test_a_shell_completes_commands_options_and_choices(desk: Desk) -> None:
    assert completed(desk, "inorder ver") == ["verify"]
    assert completed(desk, "inorder stage --retry") == ["--retry-backoff-s"]
    assert completed(desk, "inorder stage --policy ") == ["io", "cpu", "gpu"]
    assert completed(desk, "inorder manifest --status s") == ["success", "skip"]
    shown = desk.run("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "_INORDER_COMPLETE=complete_bash" in shown.out


def test_nothing_heavy_is_imported_before_a_command_needs_it() -> None:
    assert modules_loaded_by("import inorder.cli.command_group") & (HEAVY - {"typer"}) == set()


def test_a_worker_process_does_not_import_the_commands() -> None:
    """Where a program begins is imported once more in every process that it starts."""
    loaded = modules_loaded_by("from inorder.cli.app import main")
    assert "inorder.cli.app" in loaded
    assert loaded & HEAVY == set()


def test_the_version_is_shown(desk: Desk) -> None:
    from inorder import __version__

    assert desk.run("--version").out == f"inorder {__version__}\n"
