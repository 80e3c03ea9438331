"""Ties tests to the requirement ids in `requirements.toml`.

A test marked `@pytest.mark.req("LED-1", ...)` proves those ids when its call phase passes. The ids travel to the
reporting process inside `user_properties`, which is the one channel that survives pytest-xdist.
"""

import re
import textwrap
import tomllib
from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FILE_NAME = "requirements.toml"
PROPERTY = "requirement"
ID_PATTERN = re.compile(r"[A-Z]{3}-[1-9][0-9]*")
STATUSES = ("landed", "open")
FIELDS = {"status", "title", "note"}
REPORTED_EXITS = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


@dataclass(frozen=True)
class Coverage:
    """How many passing tests stand behind each requirement."""

    status_by_id: Mapping[str, str]
    passes: Mapping[str, int]

    def proven(self, status: str) -> list[str]:
        return [f"{name} ({self.passes[name]})" for name in self._ids(status) if self.passes.get(name)]

    def unproven(self, status: str) -> list[str]:
        return [name for name in self._ids(status) if not self.passes.get(name)]

    def lines(self, width: int) -> list[str]:
        groups = [
            ("proven", self.proven("landed")),
            ("landed but unproven", self.unproven("landed")),
            ("open, already has passing tests", self.proven("open")),
            ("open", self.unproven("open")),
        ]
        return [line for label, entries in groups if entries for line in _paragraph(label, entries, width)]

    def _ids(self, status: str) -> list[str]:
        return [name for name, held in self.status_by_id.items() if held == status]


def _paragraph(label: str, entries: list[str], width: int) -> list[str]:
    unbreakable = " ".join(entry.replace(" ", "\0") for entry in entries)
    wrapped = textwrap.wrap(
        f"{label} {len(entries)}: {unbreakable}", width, subsequent_indent="    ", break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in wrapped]


def load_statuses(path: Path) -> dict[str, str]:
    """Read `id -> status` in file order; a malformed file is a usage error of one line."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise pytest.UsageError(f"{FILE_NAME}: {error}") from error
    return {name: _status(name, table) for name, table in tables.items()}


def _status(name: str, table: Any) -> str:
    if not ID_PATTERN.fullmatch(name):
        raise pytest.UsageError(f"{FILE_NAME}: {name!r} is not a requirement id such as LED-1")
    if not isinstance(table, dict):
        raise pytest.UsageError(f"{FILE_NAME}: {name} must be a table with status and title")
    if unknown := sorted(table.keys() - FIELDS):
        raise pytest.UsageError(f"{FILE_NAME}: {name} has unknown fields: {', '.join(unknown)}")
    if not all(isinstance(table.get(field, "-"), str) for field in FIELDS) or not table.get("title"):
        raise pytest.UsageError(f"{FILE_NAME}: {name} needs a title; every field is a string")
    if table.get("status") not in STATUSES:
        raise pytest.UsageError(f"{FILE_NAME}: {name} needs a status out of {', '.join(STATUSES)}")
    return str(table["status"])


class RequirementsPlugin:
    """Checks marks while collecting, counts passes while running, reports at the end."""

    def __init__(self, status_by_id: Mapping[str, str], mode: str) -> None:
        self._status_by_id = status_by_id
        self._mode = mode
        self._passes: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        items = [node for node in report.result or () if isinstance(node, pytest.Item)]
        complaints = [complaint for item in items for complaint in self._attach(item)]
        if complaints:
            report.outcome = "failed"
            report.longrepr = "\n".join(complaints)
            report.result = []
        return report

    def _attach(self, item: pytest.Item) -> list[str]:
        marks = list(item.iter_markers("req"))
        ids = list(dict.fromkeys(str(name) for mark in marks for name in mark.args))
        item.user_properties.extend((PROPERTY, name) for name in ids)
        complaints = [
            f"{item.nodeid}: unknown requirement id {name!r}, not in {FILE_NAME}"
            for name in ids
            if name not in self._status_by_id
        ]
        if any(mark.kwargs or not mark.args for mark in marks):
            complaints.append(f"{item.nodeid}: a req mark takes one or more requirement ids and nothing else")
        return complaints

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # An unexpected pass of an xfail test is reported as passed, and proves nothing.
        if report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            self._passes.update(_ids_of(report.user_properties))

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.OK and self._missing(session.config):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
    ) -> None:
        if self._mode == "off" or config.option.collectonly or exitstatus not in REPORTED_EXITS:
            return
        terminalreporter.section("requirements")
        for line in self._coverage().lines(width=110):
            terminalreporter.write_line(line)
        if missing := self._missing(config):
            names = " ".join(missing)
            terminalreporter.write_line(f"FAILED: landed requirements without a passing test: {names}", red=True)

    def _missing(self, config: pytest.Config) -> list[str]:
        enforced = self._mode == "enforce" and not config.option.collectonly
        return self._coverage().unproven("landed") if enforced else []

    def _coverage(self) -> Coverage:
        return Coverage(self._status_by_id, self._passes)


def _ids_of(properties: Iterable[tuple[str, object]]) -> set[str]:
    return {str(value) for name, value in properties if name == PROPERTY}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("requirements").addoption(
        "--requirements",
        choices=("report", "enforce", "off"),
        default="report",
        help="report which requirements passing tests prove, or fail when a landed one is unproven",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "req(*ids): requirement ids, as in requirements.toml, that this test proves")
    status_by_id = load_statuses(config.rootpath / FILE_NAME)
    # Workers of pytest-xdist only collect; the counting happens where their reports arrive.
    mode = "off" if hasattr(config, "workerinput") else config.getoption("--requirements")
    config.pluginmanager.register(RequirementsPlugin(status_by_id, mode), "inorder-requirements")
