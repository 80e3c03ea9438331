"""The example of the crash testing guide passes, and fails when a sync or a check is missing."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "crash-testing.md"


def example(old: str = "", new: str = "") -> Callable[[], None]:
    """The test of the page, with one piece of it replaced."""
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert not old or code.count(old) == 1
    names: dict[str, Any] = {}
    exec(compile(code.replace(old, new), str(PAGE), "exec"), names)
    [test] = [value for name, value in names.items() if name.startswith("test_")]
    return test


def test_the_example_passes() -> None:
    example()()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    file.sync()\n", ""),
        ('    filesystem.sync_directory(".")\n', ""),
        ("before = Disk()", "before = Disk(syncs=False)"),
        ('if check == [b"%d" % zlib.crc32(n)]', "if check"),
    ],
)
def test_the_example_fails_without_a_sync_or_a_check(old: str, new: str) -> None:
    with pytest.raises((AssertionError, ValueError)):
        example(old, new)()
