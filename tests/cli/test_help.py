"""The help of every command: how long it is, and that its example works."""

import shlex
import shutil
import signal
from pathlib import Path

import pytest

from inorder.cli.commands import EXAMPLES
from inorder.cli.exit_codes import Exit, Interrupted
from inorder.extensions.trust import trust_recorded
from inorder.watch.loop import Watcher
from tests.support.command_line import CommandLine, clean_environment
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("CLI-1")

LINES_MAX = 60
OPTIONS_MAX = 30
WIDTH = 80
ENDS = {"watch": Exit.TERMINATED, "failures": Exit.DONE}
JOBS = """
from pathlib import Path
import inorder

def plan(sources, data):
    items = [inorder.WorkItem(item_id=path.name) for path in sorted(Path(sources[0]).iterdir())]
    return inorder.StagePlan("count", items)

count = inorder.Stage(name="count", plan=plan, worker=print, options=inorder.StageOptions(workers=1))
"""
FILES = {
    "oil.json": '{"type": "object"}',
    "docs/lamp.md": "# Lamps\n\nThe keeper lights the lamp at dusk.\n",
    "docs/oil.md": "# Oil\n\nA lamp burns oil.\n",
    "src/lamp.py": "def light_lamp():\n    return oil()\n\n\ndef oil():\n    return 1\n",
    "jobs.py": JOBS,
    "queries.jsonl": '{"id": 1, "text": "keeper"}\n',
    "qrels.tsv": "1\tlamp.md\t1\n",
    "inorder.toml": "[default]\npolicy = 'io'\nfsync = 'off'\n",
}


def list_options(shown: str) -> list[str]:
    """The lines that begin the description of an option."""
    return [line for line in shown.splitlines() if line.startswith("  -")]


@pytest.mark.parametrize("command", EXAMPLES, ids=lambda each: each or "inorder")
def test_help_begins_with_an_example_and_fits_a_screen(cli: CommandLine, command: str) -> None:
    for spelling in ("--help", "-h"):
        ended = cli.run_in_process(*command.split(), spelling, COLUMNS=str(WIDTH))
        assert (ended.code, ended.err) == (0, "")
        lines = ended.out.splitlines()
        assert lines[:2] == [f"Example: {EXAMPLES[command]}", ""]
        assert lines[2].startswith(f"Usage: inorder {command}".rstrip())
        assert len(lines) <= LINES_MAX
        assert len(list_options(ended.out)) <= OPTIONS_MAX
        assert [line for line in lines if len(line) > WIDTH] == []


def test_the_commands_that_run_leave_room_for_options_to_come(cli: CommandLine) -> None:
    ended = cli.run_in_process("run", "--help", COLUMNS=str(WIDTH))
    assert len(list_options(ended.out)) <= 25
    assert len(ended.out.splitlines()) <= 54


def test_every_option_with_a_value_names_its_default(cli: CommandLine) -> None:
    shown = cli.run_in_process("run", "--help").out
    options = [f"-{text}" for text in shown.split("\n  -")[1:]]
    without = [text for text in options if "Default:" not in text]
    assert [text.split()[0] for text in without] == ["--set", "--json", "-h,"]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents, a program and a stage, all of which have run."""
    folder = tmp_path_factory.mktemp("examples")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for arguments in (("run", "docs", "src"), ("stage", "jobs:count", "docs")):
        code, _, err = run_in_process((*arguments, "--quiet"), folder, clean_environment())
        assert code == 0, err
    return folder


@pytest.fixture(autouse=True)
def ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server ends as soon as it has begun, and a watch after its first run."""

    def terminate(watcher: Watcher) -> None:
        raise Interrupted(signal.SIGTERM)

    monkeypatch.setattr(Watcher, "_wait_until_due", terminate)
    monkeypatch.setattr("uvicorn.Server.run", lambda server, sockets: None)
    monkeypatch.setattr("webbrowser.open", lambda url: True)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("command", [name for name in EXAMPLES if name != "mcp"], ids=lambda each: each or "inorder")
def test_the_example_works(command: str, prepared: Path, tmp_path: Path) -> None:
    folder = tmp_path / "here"
    shutil.copytree(prepared, folder)
    trust_recorded(str(folder / ".inorder"), "stage", "jobs:count")
    for part in EXAMPLES[command].split(" && "):
        code, _, err = run_in_process(shlex.split(part)[1:], folder, clean_environment())
        assert code == ENDS.get(command, Exit.DONE), err


@pytest.mark.process
def test_the_example_of_the_server_for_assistants_works(
    prepared: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = pytest.importorskip("mcp.server", reason="the extra mcp is not installed")
    served: list[str] = []
    monkeypatch.setattr(server.MCPServer, "run", lambda server, kind: served.append(kind))
    code, _, err = run_in_process(shlex.split(EXAMPLES["mcp"])[1:], prepared, clean_environment())
    assert (code, err, served) == (0, "", ["stdio"])
