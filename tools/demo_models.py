"""Read scans with a scripted model that fails at times: what is asked, what it costs, and that a rerun asks nothing.

Run by `make demo-models`. The model is `inorder.testing.ModelServer`, so neither a key nor a network is needed.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from inorder.testing import ModelRequest, ModelServer
from tests.pipeline.scans import read_number, write_scans

TEXTS = {
    1: "# The fog horn\n\nThe keeper starts the fog horn when the far buoy is out of sight.",
    2: "## Oil\n\n<table><tr><th>day</th><th>oil</th></tr><tr><td>Monday</td><td>4 l</td></tr></table>",
    3: "## Wicks\n\nA wick is trimmed at dusk, and replaced every ninth day.",
    4: "# The boat\n\nThe boat is tarred in May.",
    5: "## Crew\n\nThree men row it to the mainland when the tide allows.",
}
FAULTS = 0.2


def answer(request: ModelRequest) -> str:
    """What the model says of a page."""
    return TEXTS[read_number(request)] if request.images else "yes"


def main() -> None:
    """Make scans, and show each command with what it prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    write_scans(folder / "scans", 3, 2)
    with ModelServer(answer=answer, fault_rate=FAULTS, latency_s=0.2, seed=3) as server:
        model = ("--reader", f"vision:{server.url}#demo")
        data = ("--data", str(folder / "data"))
        run("plan", str(folder / "scans"), *model, *data)
        run("run", str(folder / "scans"), *model, *data, "--pages-max", "2")
        run("run", str(folder / "scans"), *model, *data)
        run("search", "when is a wick replaced", *data, "-k", "2")
        before = server.asked.total()
        run("run", str(folder / "scans"), *model, *data, "--force")
        print(f"requests of the last run: {server.asked.total() - before}")
        run("answers", *data)


def run(*arguments: str) -> None:
    """Run a command, and show it."""
    print(f"\n$ inorder {' '.join(arguments)}", flush=True)
    subprocess.run([sys.executable, "-m", "inorder", *arguments], check=True)


if __name__ == "__main__":
    main()
