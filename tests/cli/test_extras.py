"""What is said where the packages of an extra are not installed."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from inorder.cli.commands import COMMANDS, EXAMPLES
from inorder.cli.extras import EXTRAS, extra_of
from tests.support.command_line import GUARD_S, clean_environment

pytestmark = [pytest.mark.req("CLI-8"), pytest.mark.process]

WITHOUT_EXTRAS = """
import contextlib, io, json, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED or name.startswith("tree_sitter_"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

BLOCKED = set(json.loads(sys.argv[1]))
sys.meta_path.insert(0, Blocker())
from inorder.cli.app import run_command

for arguments in json.loads(sys.argv[2]):
    with contextlib.redirect_stderr(io.StringIO()) as err:
        code = run_command(arguments)
    print("\\n" + json.dumps({"code": code, "err": err.getvalue()}), file=sys.__stderr__, flush=True)
"""

INGEST = "ingest"
LINES = {
    "run src": INGEST,
    "watch src": "ingest,watch",
    "doctags src": INGEST,
    "chunk": INGEST,
    "embed": INGEST,
    "index src": INGEST,
    "extract --plan --schema s.json --model openai:http://h#m": INGEST,
    "search words": INGEST,
    "symbols code.py": INGEST,
    "graph f": INGEST,
    "mcp": "ingest,mcp",
    "serve": "ingest,serve",
    "eval queries.jsonl qrels.tsv": INGEST,
    "stage nothing:stage src": "",
    "plan src": INGEST,
    "plan": INGEST,
    "explain src/text.md": INGEST,
    "retry": INGEST,
    "config keys": "",
    "sources": "",
    "answers": "",
    "plugins": "",
    "forget src": INGEST,
    "show text.md": INGEST,
    "export all --to out": INGEST,
    "failures": "",
    "verify --data none": "",
    "inspect": "",
    "report": "",
    "manifest": "",
    "journal .inorder/journal/doctags.journal": "",
    "config show": "",
}
"""Command lines, and the extra that each needs; empty: none."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """DATA of the built-in stages, with one failed item."""
    folder = tmp_path_factory.mktemp("extras")
    (folder / "src").mkdir()
    (folder / "src" / "text.md").write_text("Some words.\n")
    (folder / "src" / "broken.pdf").write_bytes(b"%PDF-1.4\nnothing")
    (folder / "src" / "code.py").write_text("def f():\n    return f()\n")
    ended = call(folder, "-m", "inorder", "run", "src", "--policy", "io", "--quiet")
    assert ended.returncode == 3, ended.stderr
    return folder


def call(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=GUARD_S,
        check=False,
    )


def run_without(folder: Path, modules: list[str], lines: list[str]) -> list[dict[str, Any]]:
    """Run these command lines in one process in which these modules cannot be imported."""
    ended = call(folder, "-c", WITHOUT_EXTRAS, json.dumps(modules), json.dumps([line.split() for line in lines]))
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stderr.splitlines() if line.startswith('{"code"')]


def test_every_command_names_the_extra_that_it_needs_and_how_to_install_it(folder: Path) -> None:
    modules = [module for extra in EXTRAS.values() for module in extra]
    found = dict(zip(LINES, run_without(folder, modules, list(LINES)), strict=True))
    for line, extra in LINES.items():
        command = line.split()[0]
        if extra:
            names = [f"`{name}`" for name in extra.split(",")]
            named = f"extra{'s' if len(names) > 1 else ''} {' and '.join(names)}"
            said = f"inorder: `inorder {command}` needs the {named}: pip install 'inorder[{extra}]'\n"
            assert found[line] == {"code": 2, "err": said}, line
        else:
            assert "pip install" not in found[line]["err"], line
    assert {line.split()[0] for line in LINES} == COMMANDS.keys()


@pytest.mark.parametrize("module", EXTRAS[INGEST])
def test_one_missing_module_of_an_extra_is_found_before_anything_runs(folder: Path, module: str) -> None:
    [found] = run_without(folder, [module], ["chunk --force"])
    said = "inorder: `inorder chunk` needs the extra `ingest`: pip install 'inorder[ingest]'\n"
    assert found == {"code": 2, "err": said}


def test_help_needs_no_extra_and_is_the_same_without_any(folder: Path) -> None:
    modules = [module for extra in EXTRAS.values() for module in extra]
    lines = json.dumps([[*command.split(), "--help"] for command in EXAMPLES])
    without, complete = (call(folder, "-c", WITHOUT_EXTRAS, json.dumps(blocked), lines) for blocked in (modules, []))
    assert without.stderr == '\n{"code": 0, "err": ""}\n' * len(EXAMPLES)
    assert without.stdout == complete.stdout
    assert without.stdout.count("Example: inorder") == len(EXAMPLES)


def test_every_extra_of_the_package_is_known() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    assert EXTRAS.keys() == project["project"]["optional-dependencies"].keys() - {"dev"}
    for module in ("tree_sitter_python", "pyarrow.parquet", "mcp.server"):
        assert extra_of(ModuleNotFoundError(name=module)) is not None
    assert extra_of(ModuleNotFoundError(name="no_such_module")) is None
