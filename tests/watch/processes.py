"""`inorder watch` as a process of its own."""

import json
import signal
from typing import Any

from tests.support.command_line import CommandLine, CommandResult

IN_THREADS = ("--policy", "io", "--workers", "1")


class Watch:
    """A watch of `sources` that has completed its first run."""

    def __init__(self, cli: CommandLine, *arguments: str) -> None:
        self.cli = cli
        self.program = cli.start("watch", "sources", "--json", "--settle", "0.05", *IN_THREADS, *arguments)

    def next(self, event: str) -> dict[str, Any]:
        """The next event of this kind."""
        assert self.program.stdout is not None
        while line := self.program.stdout.readline():
            found: dict[str, Any] = json.loads(line)
            if found["event"] == event:
                return found
        raise AssertionError(f"it ended without the event {event}: {self.program.communicate()}")

    def end(self, number: int = signal.SIGTERM) -> CommandResult:
        self.program.send_signal(number)
        return self.cli.end_of(self.program)
