"""`inorder run`: what it does once for all of its stages."""

import os
import shutil
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from inorder.cli import settings
from inorder.cli.builtin import BUILTIN, ENTRIES
from inorder.cli.stage_loader import StageJob
from inorder.host import memory
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("CLI-1")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("src/docs/deep", "src/code/package"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src" / "docs" / "a.md").write_text("# Title\n\nSome words.\n")
    (tmp_path / "src" / "docs" / "deep" / "b.txt").write_text("More words.\n")
    (tmp_path / "src" / "code" / "package" / "c.py").write_text("def f():\n    return 1\n")
    return tmp_path


def run(project: Path, *options: str) -> tuple[int, str, str]:
    arguments = ["run", "src", "--policy", "io", "--workers", "1", "--quiet", *options]
    return run_in_process(arguments, project, clean_environment())


def test_every_folder_of_the_sources_is_listed_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: Counter[str] = Counter()
    scandir = os.scandir

    def count(path: Any = ".") -> Any:
        if not isinstance(path, int):
            listed[os.path.abspath(os.fsdecode(path))] += 1
        return scandir(path)

    monkeypatch.setattr(os, "scandir", count)
    assert run(project) == (0, "", "")
    source = str(project / "src")
    assert {path: count for path, count in listed.items() if path.startswith(source)} == {
        source: 1,
        f"{source}/code": 1,
        f"{source}/code/package": 1,
        f"{source}/docs": 1,
        f"{source}/docs/deep": 1,
    }


def test_settings_are_read_once_and_merged_once_per_stage(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    for owner, name in (
        (settings, "_read_file"),
        (settings, "_read_environment"),
        (settings.SettingsReader, "for_stage"),
        (settings.StageSettings, "with_defaults"),
    ):
        count_calls(monkeypatch, owner, name, calls)
    assert run(project) == (0, "", "")
    # The export has settings, too: they say whether it is a part of the run.
    assert calls == {"_read_file": 1, "_read_environment": 1, "for_stage": len(BUILTIN), "with_defaults": len(ENTRIES)}


def test_the_plan_of_a_stage_is_gone_when_the_next_one_begins(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: weakref.WeakSet[Any] = weakref.WeakSet()
    left: list[int] = []
    make_plan: Any = StageJob.make_plan

    def note_plan(job: StageJob, data: str) -> Any:
        left.append(len(plans))
        plan = make_plan(job, data)
        plans.add(plan.items)
        return plan

    monkeypatch.setattr(StageJob, "make_plan", note_plan)
    monkeypatch.setattr(memory, "_MANY_ITEMS", 1)
    with memory.pause_collector():
        assert run(project) == (0, "", "")
    assert left == [0] * len(ENTRIES)


def count_calls(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, calls: Counter[str]) -> None:
    original = getattr(owner, name)

    def counted(*arguments: Any, **options: Any) -> Any:
        calls[name] += 1
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, counted)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--dense", "magic", "magic"),
        ("--tokens-min", "4000", "tokens_min must be at most tokens_max"),
        ("--retries", "many", "--retries must be a whole number"),
    ],
)
def test_a_wrong_setting_of_a_later_stage_is_reported_before_the_first_one_runs(
    project: Path, option: str, value: str, said: str
) -> None:
    code, out, err = run(project, option, value)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
    assert not (project / ".inorder").exists()


def test_a_plan_without_sources_lists_the_stages_in_the_order_in_which_they_run(project: Path) -> None:
    assert run(project)[0] == 0
    code, out, _ = run_in_process(["plan"], project, clean_environment())
    assert code == 0
    assert [line.partition(":")[0] for line in out.splitlines()[-len(ENTRIES) :]] == list(ENTRIES)


def test_inspect_names_the_files_of_the_index_and_leaves_out_empty_lists(project: Path) -> None:
    shutil.rmtree(project / "src" / "docs")
    assert run(project)[0] == 0
    code, out, _ = run_in_process(["inspect"], project, clean_environment())
    assert code == 0
    lines = [line.split(maxsplit=1) for line in out.splitlines()]
    assert ["documents", "0"] in lines
    assert any(line.startswith("  index.sqlite, vectors  ") for line in out.splitlines())
