"""Runs a stage in programs that are killed, one after the other, on the same DATA."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.stage.jobs import Place, steady
from tests.support.command_line import GUARD_S

REPOSITORY = Path(__file__).parents[2]


class Lives:
    """Runs of the same program on the same place, one after the other."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.committed: list[str] = []
        """Items of which the hook was told that they are committed; of the last few nobody may have told it."""

    def live(self, plan: list[str], death: str, policy: str = "cpu") -> tuple[list[str], dict[str, Any] | None]:
        """One life: the items that its workers were called for, and the outcome unless it was killed. The item `x!` is
        held until the kill."""
        for name in plan:
            if name != "|":
                self.place.item(name.partition("@")[0].rstrip("!"))
        listed = self.place.folder / "plan"
        listed.write_text("\n".join(plan))
        program = [sys.executable, "-m", "tests.stage.killed", str(self.place.folder), str(listed), policy, death]
        finished = subprocess.run(program, cwd=REPOSITORY, capture_output=True, text=True, timeout=GUARD_S, check=False)
        if death:
            assert finished.returncode == -signal.SIGKILL, finished.stderr
        else:
            assert finished.returncode == 0, finished.stderr
        told = self.place.folder / "committed"
        self.committed = told.read_text().split() if told.exists() else []
        return self.place.called(), None if death else json.loads(finished.stdout)


def portable(place: Place) -> str:
    """All rows but what may differ, as they would be in any folder."""
    return json.dumps(steady(place.lines())).replace(str(place.folder), "HERE")
