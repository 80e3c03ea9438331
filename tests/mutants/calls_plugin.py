"""Records which functions of the package each test calls, into the file that `CALLS_FILE` names. It is used by
`tests.mutants.drawn`, which runs those tests against a mutant of a function.

What a fixture of a module calls counts for all tests of the module.
"""

import json
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.mutants.runner import ROOT

_SOURCE = f"{ROOT / 'src'}/"
_current: set[CodeType] = set()
_of_setup: dict[str, set[CodeType]] = defaultdict(set)
_of_test: dict[str, set[CodeType]] = defaultdict(set)
_seconds: dict[str, float] = defaultdict(float)


def _trace(frame: FrameType, event: str, argument: Any) -> None:
    _current.add(frame.f_code)


@contextmanager
def _recording(found: set[CodeType]) -> Iterator[None]:
    _current.clear()
    threading.settrace(_trace)
    sys.settrace(_trace)
    try:
        yield
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        found |= {code for code in _current if code.co_filename.startswith(_SOURCE)}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    with _recording(_of_setup[item.nodeid.partition("::")[0]]):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    with _recording(_of_test[item.nodeid]):
        return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    functions: dict[str, list[str]] = defaultdict(list)
    for test, called in _of_test.items():
        for code in called | _of_setup[test.partition("::")[0]]:
            functions[f"{code.co_filename.removeprefix(_SOURCE)}:{code.co_firstlineno}"].append(test)
    with open(os.environ["CALLS_FILE"], "w", encoding="utf-8") as file:
        json.dump({"functions": functions, "seconds": _seconds}, file)
