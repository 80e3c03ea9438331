"""`pytest -p tests.support.no_skips_plugin`: a skipped test fails the run. For targets that install what tests need."""

import pytest


class SkipCounter:
    """Counts the tests and files that were skipped."""

    def __init__(self) -> None:
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skipped.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.skipped.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.skipped:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.skipped:
            terminalreporter.section("skipped although nothing may be", red=True)
            terminalreporter.write_line("\n".join(sorted(set(self.skipped))))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SkipCounter(), "skip-counter")
