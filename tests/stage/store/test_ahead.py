"""Modules that are imported while a run waits for workers."""

import sys
from pathlib import Path

import pytest

from inorder.stage.store.ahead import BackgroundImports

pytestmark = pytest.mark.req("STL-1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "ahead_one.py").write_text("")
    (tmp_path / "ahead_bad.py").write_text("raise ValueError")
    (tmp_path / "ahead_two.py").write_text("")
    return tmp_path


def test_they_are_there_when_they_were_waited_for(folder: Path) -> None:
    interval_s = sys.getswitchinterval()
    imports = BackgroundImports()
    imports.start(["ahead_one", "ahead_two"])
    imports.start(["ahead_bad"])
    imports.join()
    assert {"ahead_one", "ahead_two"} <= sys.modules.keys()
    assert sys.getswitchinterval() == interval_s


def test_an_error_is_left_to_those_who_need_the_module(folder: Path) -> None:
    imports = BackgroundImports()
    imports.start(["ahead_bad"])
    imports.join()
    assert "ahead_bad" not in sys.modules


def test_without_modules_nothing_is_waited_for() -> None:
    imports = BackgroundImports()
    imports.start([])
    imports.join()
