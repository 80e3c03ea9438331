"""The public API is typed: a file of user code passes `mypy --strict`, and a wrong use of it does not."""

import re
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


JOB = """
import inorder
from collections.abc import Awaitable
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
"""


@pytest.mark.process
@pytest.mark.req("API-3")
def test_every_block_of_the_guide_on_imap_passes_strict_type_checking(tmp_path: Path, cache: Path) -> None:
    guide = (GUIDES / "your-own-job.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^( *)```python\n(.*?)```", guide, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 9
    for number, (_, block) in enumerate(blocks):
        code = textwrap.dedent(block)
        if "async " in code:
            code = code.replace("fetch,", "fetch_async,").replace("store(", "store_async(")
        (tmp_path / f"block{number}.py").write_text(JOB + code, encoding="utf-8")
    checked = check_types(tmp_path, cache)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.process
@pytest.mark.req("API-3")
@pytest.mark.parametrize("guide", ["your-own-stage", "your-own-sink"])
def test_the_code_of_a_guide_passes_strict_type_checking(guide: str, tmp_path: Path, cache: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (GUIDES / f"{guide}.md").read_text(encoding="utf-8"), re.DOTALL)
    file = tmp_path / "guide.py"
    file.write_text("".join(blocks), encoding="utf-8")
    checked = check_types(file, cache)
    assert checked.returncode == 0, checked.stdout
