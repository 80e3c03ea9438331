"""The public API is typed: a file of user code passes `mypy --strict`, and a wrong use of it does not."""

import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

USER_CODE = Path(__file__).with_name("user_code.py")
GUIDES = Path(__file__).parents[2] / "docs" / "guides"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


def check_types(file: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}", str(file)]
    return subprocess.run(command, cwd=file.parent, capture_output=True, text=True, timeout=110, check=False)


@pytest.mark.process
def test_user_code_passes_strict_type_checking_and_a_wrong_use_does_not(tmp_path: Path, cache: Path) -> None:
    checked = check_types(USER_CODE, cache)
    assert checked.returncode == 0, checked.stdout

    wrong = {
        "inorder.imap(len, [1])": 'Argument 1 to "imap"',
        "inorder.imap(len, ['a'], errors='ignore')": "No overload variant",
        "inorder.imap(len, ['a'], errors='yield').__next__().bit_count()": 'Item "ItemError"',
        "inorder.StageHooks(before_item=len)": 'Argument "before_item"',
        "inorder.StageHooks(after_item=lambda item, result, ctx: result.extras)": 'has no attribute "extras"',
        "inorder.Stage(name='s', plan=plan, worker=len, sinks=lambda data: [data])": "List item 0",
        "inorder.run_stage(plan([], None), len, sinks=[len])": "List item 0 has incompatible type",
        "inorder.WorkItem(item_id=1)": 'Argument "item_id"',
        "inorder.StageOptions(policy='tpu')": 'Argument "policy"',
        "inorder.Missing": "Module has no attribute",
    }
    file = tmp_path / "wrong.py"
    plan = "def plan(sources: object, data: object) -> inorder.StagePlan: ...\n"
    file.write_text("import inorder\n" + plan + "\n".join(wrong) + "\n")
    checked = check_types(file, cache)
    for line, complaint in enumerate(wrong.values(), start=3):
        found = [text for text in checked.stdout.splitlines() if f"wrong.py:{line}: error" in text]
        assert complaint in "".join(found)


PREAMBLES = {
    "lanes": """
def fetch(url: str) -> bytes: return b""
urls = ["a"]
""",
    "your-own-job": """
import inorder
class QueueFull(Exception): ...
class Page: ...
async def fetch_async(url: str) -> Page: return Page()
def fetch(url: str) -> Page: return Page()
def host_of(url: str) -> str: return url
def parse(path: str) -> int: return 1
def convert(path: str) -> int: return 1
def encode(page: Page) -> bytes: return b""
def store(page: Page) -> None: ...
async def store_async(page: Page) -> None: ...
urls = files = ["a"]
path = "a"
""",
}
"""What the blocks of a guide take as given, by guide."""
WITHOUT_TYPES = ("duckdb", "fsspec", "polars", "pyarrow")
"""Packages in guides that have no types, or are not installed here."""


def list_guides() -> list[str]:
    """The guides with Python code."""
    return sorted(path.stem for path in GUIDES.glob("*.md") if "```python" in path.read_text(encoding="utf-8"))


def read_blocks(guide: str) -> list[str]:
    """The blocks of a guide. Those on `imap` stand alone, those of the others follow one another."""
    text = (GUIDES / f"{guide}.md").read_text(encoding="utf-8")
    found = [
        textwrap.dedent(block) for _, block in re.findall(r"^( *)```python\n(.*?)```", text, re.DOTALL | re.MULTILINE)
    ]
    if guide != "your-own-job":
        return ["\n".join(found)]
    return [
        block.replace("fetch,", "fetch_async,").replace("store(", "store_async(") if "async " in block else block
        for block in found
    ]


def write_blocks(guide: str, folder: Path) -> None:
    """Write the code of a guide as files of a user."""
    for number, block in enumerate(read_blocks(guide)):
        (folder / f"block{number}.py").write_text(PREAMBLES.get(guide, "") + block, encoding="utf-8")


def write_stubs(folder: Path) -> None:
    """Write stubs of what has no types."""
    for package in WITHOUT_TYPES:
        (folder / package).mkdir(parents=True)
        stub = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"
        (folder / package / "__init__.pyi").write_text(stub, encoding="utf-8")


@pytest.mark.process
@pytest.mark.req("API-3")
@pytest.mark.parametrize("guide", list_guides())
def test_the_code_of_a_guide_passes_strict_type_checking(guide: str, tmp_path: Path, cache: Path) -> None:
    write_blocks(guide, tmp_path)
    write_stubs(tmp_path)
    checked = check_types(tmp_path, cache)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.process
@pytest.mark.req("API-3")
def test_user_code_and_guides_pass_pyright(tmp_path: Path) -> None:
    pytest.importorskip("pyright", reason="run by `make test-typing`")
    shutil.copy(USER_CODE, tmp_path)
    write_stubs(tmp_path / "typings")
    for guide in list_guides():
        folder = tmp_path / guide
        folder.mkdir()
        write_blocks(guide, folder)
    rules = {"reportDuplicateImport": False, "reportIncompleteStub": False, "reportMissingModuleSource": False}
    settings = {
        "typeCheckingMode": "strict",
        "executionEnvironments": [{"root": each} for each in [".", *list_guides()]],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings | rules), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    report = json.loads(checked.stdout)
    assert report["summary"]["filesAnalyzed"] > len(list_guides())
    assert [f"{each['file']}: {each['message']}" for each in report["generalDiagnostics"]] == []
