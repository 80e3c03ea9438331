"""What a watch is made of besides its feed: a run, and observers."""

from typing import NamedTuple, Protocol

from .changes import SourceChanges


class RunResult(NamedTuple):
    """How a run ended."""

    exit_code: int
    problem: str = ""
    """Why it is to be repeated: the infrastructure failed; empty: it is complete, or a person has to look at it."""
    is_interrupted: bool = False
    """Whether a signal stopped it."""


class WatchObserver(Protocol):
    """Follows what a watch does: for messages, and for its status."""

    def on_changes(self, changes: SourceChanges) -> None:
        """Changes are gathered; `changes` are all that are pending."""

    def on_run_started(self, number: int, changes: SourceChanges) -> None:
        """A run starts."""

    def on_run_ended(self, number: int, result: RunResult, duration_ms: int) -> None:
        """A run has ended."""

    def on_waiting(self, reason: str) -> None:
        """Sources are not there. Empty: they are there again."""

    def on_retry(self, problem: str, wait_ms: int) -> None:
        """A run failed, and is repeated after this time."""
