"""What we find is opened only if it is a regular file: a FIFO in its place is one clear line, and never a hang."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine, clean_environment

pytestmark = [pytest.mark.process, pytest.mark.req("ROB-1")]

RUN = "run sources --policy io"
COMMANDS = [
    "inspect",
    "search lamp",
    "verify",
    "export all --to out",
    "report --output page.html",
    RUN,
]
TELEMETRY = "telemetry/RUN.jsonl"
VECTORS = "library.vectors.HASH.f32"
MADE = [
    "journal/run.journal",
    "library.sqlite",
    "library.sqlite.library.lock",
    "library.sums",
    VECTORS,
    "locks/run.lock",
    "manifests/chunk.jsonl",
    "manifests/doctags.jsonl",
    "manifests/embed-dense.jsonl",
    "manifests/index.jsonl",
    TELEMETRY,
]
"""Every file of DATA after a run."""
LATER = [
    "library.sqlite-journal",
    "library.sqlite-shm",
    "library.sqlite-wal",
    "locks/.watch.json",
    "locks/run.live.json",
    "journal/models.journal",
]
"""Files that DATA has at times."""
GUARD_S = 120.0
PROGRAM = """
import json, os, sys
from pathlib import Path
from tests.support.in_process import run_in_process
for command in json.loads(sys.argv[1]):
    code, out, err = run_in_process(command.split(), Path(sys.argv[2]), os.environ)
    print(json.dumps([command, code, err]), flush=True)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    cli = CommandLine(tmp_path_factory.mktemp("made"))
    cli.source("a.md", "# A lamp\n")
    cli.source("b.py", "def lamp():\n    return 1\n")
    assert cli.run(*RUN.split()).code == 0
    yield cli
    cli.close()


def run_all(folder: Path) -> dict[str, tuple[int, str]]:
    """Run all commands, one after the other, and return the exit code and stderr of each."""
    environment = clean_environment() | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    program = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(COMMANDS), str(folder)],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        check=True,
    )
    return {command: (code, err) for command, code, err in map(json.loads, program.stdout.splitlines())}


def test_these_are_the_files_of_data(made: CommandLine) -> None:
    found = {str(path.relative_to(made.data)) for path in made.data.rglob("*") if path.is_file()}
    assert {_generalize(name) for name in found} == set(MADE)


def _generalize(name: str) -> str:
    return TELEMETRY if name.startswith("telemetry/") else VECTORS if name.startswith("library.vectors.") else name


@pytest.mark.parametrize("name", [*MADE, *LATER])
def test_a_fifo_in_place_of_a_file_of_data_ends_no_command_in_a_hang(
    made: CommandLine, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(made.folder, folder)
    data = folder / made.data.name
    [*there] = [path for path in data.rglob("*") if path.is_file() and _generalize(str(path.relative_to(data))) == name]
    place = there[0] if there else data / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    ended = run_all(folder)
    assert set(ended) == set(COMMANDS)
    for command, (code, err) in ended.items():
        assert "Error" not in err, command
        if code == 1:
            assert "not a regular file" in err, command
            assert place.name in err, command


def test_a_watch_says_what_is_no_regular_file_and_hears_a_signal(made: CommandLine, tmp_path: Path) -> None:
    shutil.copytree(made.data, data := tmp_path / "data")
    (data / "library.sqlite").unlink()
    os.mkfifo(data / "library.sqlite")
    program = made.start("watch", "sources", "--data", str(data), "--policy", "io")
    assert program.stderr is not None
    assert any(f"not a regular file ({data}/library.sqlite)" in line for line in program.stderr)
    program.send_signal(signal.SIGTERM)
    assert made.end_of(program).code == 143


@pytest.mark.parametrize("name", ["inorder.toml", "sources/a.md", "sources/b.py", "sources/c.zip"])
def test_a_fifo_in_place_of_settings_or_of_a_source_file_ends_no_command_in_a_hang(
    made: CommandLine, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(made.folder, folder)
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    ended = run_all(folder)
    codes = {command: code for command, (code, _) in ended.items()}
    if name == "inorder.toml":
        assert set(codes.values()) == {2}
        assert {err for _, err in ended.values()} == {"inorder: cannot read inorder.toml: not a regular file\n"}
    else:
        assert set(codes.values()) == {0}


def test_a_fifo_in_place_of_what_the_user_has_trusted_is_one_line(cli: CommandLine) -> None:
    (cli.folder / "config" / "inorder").mkdir(parents=True)
    os.mkfifo(trusted := cli.folder / "config" / "inorder" / "trusted")
    (cli.folder / "inorder.toml").write_text('[default]\ndense = "openai:http://127.0.0.1:9/#m"\n')
    ended = cli.end_of(cli.start("config", "trust", XDG_CONFIG_HOME=str(cli.folder / "config")))
    assert (ended.code, ended.err) == (2, f"inorder: cannot write {trusted}: not a regular file\n")


def test_a_fifo_in_place_of_what_describes_a_package_hides_the_package(cli: CommandLine) -> None:
    described = cli.folder / "packages" / "odd-1.0.dist-info"
    described.mkdir(parents=True)
    os.mkfifo(described / "entry_points.txt")
    ended = cli.end_of(cli.start("plugins", PYTHONPATH=str(cli.folder / "packages")))
    assert (ended.code, ended.err) == (0, "no installed package has plug-ins\n")


def test_a_fifo_in_place_of_the_settings_of_an_assistant_is_one_line(made: CommandLine) -> None:
    (made.folder / ".vscode").mkdir(exist_ok=True)
    os.mkfifo(made.folder / ".vscode" / "mcp.json")
    ended = made.end_of(made.start("mcp", "--install", "vscode", "--write", "--data", str(made.data)))
    assert ended.code == 2
    assert ".vscode/mcp.json cannot be read, and nothing was written" in ended.err
    assert "not a regular file" in ended.err


def test_a_fifo_in_place_of_a_tokenizer_is_one_line(made: CommandLine, tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / "tokenizer.json")
    ended = made.end_of(made.start("run", "sources", "--data", str(tmp_path / "data"), "--set", f"tokenizer=hf:{path}"))
    assert ended.code == 2
    assert "not a regular file" in ended.err
