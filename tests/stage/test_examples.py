"""The examples do what they say, and what an orchestrator gets is what the command gives."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import inorder
from examples import shout
from tests.stage.jobs import read_lines, steady, tree
from tests.support.command_line import GUARD_S

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "guides" / "your-own-stage.md"
VOLATILE = ("run_id", "wall_ms", "queue_p50_ms", "exec_p50_ms", "exec_p95_ms", "items_per_s")


def documented() -> str:
    [source] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return source


class Bare(ast.NodeTransformer):
    """A program without docstrings, types, and the imports that only types need."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.generic_visit(node)
        node.returns = None
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        node.annotation = None
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        return None if node.module in ("typing", "collections.abc") else node


def bare(source: str) -> str:
    return ast.unparse(Bare().visit(ast.parse(source)))


def write_texts(folder: Path) -> Path:
    sources = folder / "texts"
    (sources / "deep").mkdir(parents=True)
    for name, text in (("a.txt", "hello"), ("deep/b.txt", "is anybody there"), ("empty.txt", ""), ("note.md", "no")):
        (sources / name).write_text(text)
    return sources


def test_the_page_shows_the_example() -> None:
    assert bare(documented()) == bare(Path(shout.__file__).read_text(encoding="utf-8"))


def test_the_page_is_no_longer_than_a_page() -> None:
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) < 75


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.req("RUN-2")
def test_the_example_runs(tmp_path: Path, policy: Any) -> None:
    sources, data = write_texts(tmp_path), tmp_path / "data"
    options = inorder.StageOptions(data=data, policy=policy, workers=2, progress="none")

    def run() -> inorder.StageOutcome:
        plan = shout.stage.plan([sources], data)
        return inorder.run_stage(plan, shout.stage.worker, options, shout.stage.hooks)

    first = run()
    assert (first.succeeded, first.skipped, first.failed) == (2, 0, 1)
    assert (data / "loud" / "texts" / "deep" / "b.txt").read_text() == "IS ANYBODY THERE!\n"
    assert (first.errors[0].item_id, first.errors[0].category) == ("texts/empty.txt", "input")
    assert [row.get("words") for row in read_lines(data / "manifests" / "shout.jsonl")] == [None, 1, 3, None]
    (sources / "empty.txt").write_text("now")
    second = run()
    assert (second.succeeded, second.skipped, second.failed) == (1, 2, 0)


def test_what_the_page_shows_runs_as_well(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(compile(documented(), str(PAGE), "exec"), names)
    stage, sources, data = names["stage"], write_texts(tmp_path), tmp_path / "data"
    options = inorder.StageOptions(data=data, workers=1, progress="none")
    outcome = inorder.run_stage(stage.plan([sources], data), stage.worker, options, stage.hooks)
    assert (outcome.succeeded, outcome.failed) == (2, 1)


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, *arguments]
    return subprocess.run(program, cwd=REPOSITORY, capture_output=True, text=True, timeout=GUARD_S, check=False)


def published(data: Path) -> dict[str, bytes]:
    return {path: content for path, content in tree(data).items() if path.startswith("loud/")}


@pytest.mark.process
@pytest.mark.req("RUN-13")
def test_an_orchestrator_gets_what_the_command_gives(tmp_path: Path) -> None:
    """Outcome, manifest, outputs and the exit code; for a first run, and for a second one that has little to do."""
    sources = write_texts(tmp_path)
    script, command = tmp_path / "script", tmp_path / "command"
    options = ("--retries", "2", "--timeout-s", "60", "--error-budget", "100")
    for counts in ((2, 0, 1), (0, 2, 1)):
        by_script = call("examples/orchestrated.py", str(script), str(sources))
        by_command = call(
            "-m", "inorder", "stage", "examples.shout:stage", str(sources), "--data", str(command), *options, "--json"
        )
        assert (by_script.returncode, by_command.returncode) == (3, 3), by_script.stderr + by_command.stderr
        succeeded, skipped, failed = counts
        assert by_script.stdout.splitlines()[0] == f"{succeeded} done, {skipped} skipped, {failed} failed"
        outcomes = [json.loads(by_command.stdout), latest_outcome(script)]
        assert outcomes[0]["succeeded"] == succeeded
        assert without_volatile(outcomes[0]) == without_volatile(outcomes[1])
        assert portable(script) == portable(command)
        assert published(script) == published(command)


def latest_outcome(data: Path) -> dict[str, Any]:
    """As the telemetry of the latest run has it."""
    latest = max((data / "telemetry").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    outcome: dict[str, Any] = read_lines(latest)[-1]["outcome"]
    return outcome


def without_volatile(outcome: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in outcome.items() if field not in VOLATILE}


def portable(data: Path) -> list[dict[str, Any]]:
    rows = json.dumps(steady(read_lines(data / "manifests" / "shout.jsonl"))).replace(str(data), "DATA")
    found: list[dict[str, Any]] = json.loads(rows)
    return found


@pytest.mark.process
@pytest.mark.req("RUN-13")
def test_what_an_orchestrator_has_run_the_commands_know(tmp_path: Path) -> None:
    sources, data = write_texts(tmp_path), tmp_path / "data"
    assert call("examples/orchestrated.py", str(data), str(sources)).returncode == 3
    failures = call("-m", "inorder", "failures", "--data", str(data))
    assert "texts/empty.txt" in failures.stdout
    (sources / "empty.txt").write_text("now")
    asked = call("-m", "inorder", "retry", "--data", str(data))
    assert (asked.returncode, "inorder config trust --data" in asked.stderr) == (2, True)
    assert call("-m", "inorder", "config", "trust", "--data", str(data)).returncode == 0
    assert call("-m", "inorder", "retry", "--data", str(data)).returncode == 0
    assert (data / "loud" / "texts" / "empty.txt").read_text() == "NOW!\n"


@pytest.mark.slow
@pytest.mark.req("RUN-13")
def test_a_task_of_an_orchestrator_fails_if_its_stage_was_stopped(tmp_path: Path) -> None:
    from examples.orchestrated import shout_everything

    sources = tmp_path / "texts"
    sources.mkdir()
    for number in range(102):
        (sources / f"{number}.txt").touch()
    with pytest.raises(RuntimeError, match="shout stopped: error budget of 100 exceeded"):
        shout_everything([sources], tmp_path / "data")


def test_the_examples_name_no_file_that_is_not_there() -> None:
    named = set(re.findall(r"examples/[\w.]+\.py", PAGE.read_text(encoding="utf-8")))
    assert named
    assert all(os.path.exists(REPOSITORY / path) for path in named)
    assert (REPOSITORY / "docs" / "specs" / "stage-runner.md").exists()
