"""inorder on a Ray cluster beside inorder on processes, plain Ray tasks and Ray Data: same cores, same items, one run.

    python bench/ray.py [--quick] [--json] [--only inorder inorder-ray] [--figures noop millisecond]

The cluster is this machine, with as many processors as everybody has workers. What is measured, and how, is the same as
in `bench/imap.py`: every figure in a fresh program, the tools taking turns, from the moment the first item begins to
the moment the last result is there, so that starting Ray is in `first` alone.

* `inorder`: `imap` on two processes
* `inorder-ray`: `imap(where="ray")` with two workers
* `ray-tasks`: one task per item
* `ray-batches`: one task for a hundred items, chosen by hand
* `ray-data`: `from_items(...).map(...)` with `preserve_order`

One figure is another: `waiting` is what results that are not yet consumed take behind a straggler, in the driver and in
shared memory, the object store included. inorder has a budget of 64 MB, the others have none.

Targets: items of 1 ms on Ray take at most 1.25 times what they take on processes, and no row is behind Ray Data.
"""

import argparse
import json
import os
import sys
from typing import Any

from imap import table, take_rounds

TOOLS = ["inorder", "inorder-ray", "ray-tasks", "ray-batches", "ray-data"]
ROWS = ["noop", "millisecond", "pareto", "waiting", "first"]
RATIO_MAX = 1.25


def verdicts(found: dict[str, dict[str, dict[str, Any]]]) -> list[str]:
    """What became of the targets; by the best round, which others disturb the least."""
    said = []
    for name, row in found.items():
        local, ray, data = (row.get(tool, {}).get("best") for tool in ("inorder", "inorder-ray", "ray-data"))
        if name == "millisecond" and local and ray:
            said.append(f"{name}: {ray / local:.2f} times processes, at most {RATIO_MAX} wanted")
        if ray is not None and data:
            said.append(
                f"{name}: {data / ray:.1f} times ahead of Ray Data" if ray <= data else f"{name}: BEHIND Ray Data"
            )
    return said


def main() -> None:
    """Take every figure and print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer items, one round")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", nargs="+", choices=TOOLS, default=TOOLS, metavar="TOOL")
    parser.add_argument("--figures", nargs="+", choices=ROWS, default=ROWS, metavar="FIGURE")
    options = parser.parse_args()
    found = {}
    for name in options.figures:
        found[name] = take_rounds(name, options.only, quick=options.quick)
        print(f"{name}: done", file=sys.stderr)
    if options.json:
        print(json.dumps({**found, "load": os.getloadavg()}))
        return
    print(table(found, options.only, against="inorder"))
    print()
    for line in verdicts(found):
        print(f"- {line}")
    print(f"\n{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}: absolute times are noise, read the ratios")


if __name__ == "__main__":
    main()
