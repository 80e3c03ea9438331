"""A folder with sources and a module of stages in it, and the installed command to run there."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import inorder
from inorder.stage.manifest.rows import VOLATILE_FIELDS
from tests.support.in_process import is_read_only, run_in_process
from tests.support.misbehaviour import wait_until

COMMAND = str(Path(sys.executable).parent / "inorder")
GUARD_S = 240.0
"""What no passing test ever waits for."""
DATA = ".inorder"


class CommandResult(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class CommandLine:
    """Sources, stages, DATA."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source_folder = folder / "sources"
        self.gates = folder / "gates"
        self.data = folder / DATA
        self.command = [COMMAND]
        self.started: list[subprocess.Popen[str]] = []
        for made in (self.source_folder, self.gates):
            made.mkdir()
        shutil.copy(Path(__file__).parents[1] / "cli" / "stages.py", folder / "jobs.py")

    # ---- before

    def source(self, name: str, text: str) -> Path:
        path = self.source_folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def sources(self, *texts: str) -> None:
        """Files `0.txt`, `1.txt` and so on."""
        for number, text in enumerate(texts):
            self.source(f"{number}.txt", text)

    def held(self, name: str) -> None:
        """A source whose worker tells that it is there, and stays until it is let go."""
        self.source(name, "hold")
        for end in ("here", "go"):
            os.mkfifo(self.gates / f"{name}.{end}")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    # ---- running

    def run(self, *arguments: str, **environment: str) -> CommandResult:
        """Run a command to its end: in this process if it only reads."""
        if is_read_only(arguments):
            return self.run_in_process(*arguments, **environment)
        program = self.start(*arguments, **environment)
        return self.end_of(program)

    def run_in_process(self, *arguments: str, **environment: str) -> CommandResult:
        return CommandResult(*run_in_process(arguments, self.folder, clean_environment() | environment))

    def stage(self, stage: str, *arguments: str) -> CommandResult:
        """Run a stage of the module on all sources."""
        return self.run("stage", f"jobs:{stage}", "sources", *arguments)

    def stage_in_process(self, stage: str, *arguments: str) -> CommandResult:
        """The same in this process, for tests of what is found afterwards. The workers are threads."""
        return self.run_in_process("stage", f"jobs:{stage}", "sources", *arguments)

    def start(self, *arguments: str, in_group: bool = False, **environment: str) -> "subprocess.Popen[str]":
        self.started.append(
            subprocess.Popen(
                [*self.command, *arguments],
                cwd=self.folder,
                env=clean_environment() | environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=_hear_signals,
                process_group=0 if in_group else None,
            )
        )
        return self.started[-1]

    def end_of(self, program: "subprocess.Popen[str]") -> CommandResult:
        out, err = program.communicate(timeout=GUARD_S)
        return CommandResult(program.returncode, out, err)

    def is_held(self, name: str, committed: int = 0, stage: str = "count") -> None:
        """Come back once the worker of this item is there, and so many items before it are committed."""
        assert (self.gates / f"{name}.here").read_text() == "here"
        manifest = self.data / "manifests" / f"{stage}.jsonl"
        if committed:
            assert wait_until(lambda: count_lines(manifest) > committed), "they were never committed"

    def let_go(self, name: str) -> None:
        (self.gates / f"{name}.go").write_text("go")

    def close(self) -> None:
        for program in self.started:
            program.kill()
            program.communicate(timeout=GUARD_S)

    # ---- after

    def lines(self, stage: str = "count") -> list[dict[str, Any]]:
        """Every row of the manifest."""
        return [json.loads(line) for line in (self.data / "manifests" / f"{stage}.jsonl").read_text().splitlines()]

    def rows(self, stage: str = "count") -> list[dict[str, Any]]:
        """The rows of items."""
        return [row for row in self.lines(stage) if row["status"] != "config"]

    def row(self, name: str, stage: str = "count") -> dict[str, Any]:
        """The latest row of an item."""
        return [row for row in self.rows(stage) if row["doc_id"] == name][-1]

    def calls(self) -> list[str]:
        """The items that a worker was called for, in that order."""
        path = self.folder / "calls"
        return path.read_text().split() if path.exists() else []

    def output(self, name: str) -> Path:
        return self.data / "counts" / name

    def lasting(self, stage: str = "count") -> tuple[list[dict[str, Any]], Mapping[str, bytes]]:
        """What must be the same in every run that comes to its end: rows without what is volatile, and outputs."""
        rows = [{key: row[key] for key in row if key not in VOLATILE_FIELDS} for row in self.lines(stage)]
        outputs = {path.name: path.read_bytes() for path in sorted((self.data / "counts").iterdir())}
        return rows, outputs

    def put_aside(self) -> None:
        """Away with DATA and with what is known of calls."""
        shutil.rmtree(self.data)
        (self.folder / "calls").unlink()


def count_lines(path: Path) -> int:
    """The lines of a file; 0 before it is there."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def clean_environment() -> dict[str, str]:
    """Nothing of the settings, or of the terminal, of whoever runs the tests."""
    unwanted = ("INORDER_", "_TYPER", "COLUMNS", "TERM", "FORCE_COLOR", "NO_COLOR", "COV_CORE")
    return {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}


def _hear_signals() -> None:
    """Tests may be run in the background, where a program is told to ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def stage_with(**options: Any) -> inorder.Stage:
    """A stage that is made for these options."""
    return inorder.Stage(
        name="count",
        plan=lambda sources, data: inorder.StagePlan("count", []),
        worker=print,
        options=inorder.StageOptions(**options),
    )
