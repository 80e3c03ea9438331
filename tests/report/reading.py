"""The data of a report, as the command line prints it."""

from typing import Any

from tests.support.command_line import CommandLine


def report_of(cli: CommandLine, *arguments: str) -> dict[str, Any]:
    result = cli.run("report", "--json", *arguments)
    assert result.code == 0, result.err
    found: dict[str, Any] = result.json
    return found
