"""Cost of the kernel alone, and memory of its ledger.

    python bench/kernel.py [--items 1000000] [--batch 64] [--seqs 10000000]

Every item goes through plan, dispatch, finish and commit. Making the plan items and the envelopes is the caller's work
in a real run too, so it is inside the time. Nothing is executed and nothing is written.
"""

import argparse
import json
import time
import tracemalloc

from inorder.core.commands import CommitRun, Dispatch, NeedItems
from inorder.core.events import Committed, Envelope, Event, Finished, Planned, Pulled, Tick
from inorder.core.kernel import Kernel
from inorder.core.ledger import Ledger
from inorder.core.options import KernelOptions
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem

SUCCESS = int(State.TERMINAL_SUCCESS)


def run_items(count: int, batch: int, workers: int, *, named: bool) -> float:
    """Seconds of processor time for `count` no-op items; the wall clock of a shared machine says little."""
    kernel = Kernel(KernelOptions(), total=count)
    plan = iter(range(count))
    inbox: list[Event] = [Tick()]
    inbox.extend(Pulled(worker, batch) for worker in range(workers))
    began = time.process_time()
    while inbox:
        for command in kernel.step(0, inbox.pop()):
            if type(command) is Dispatch:
                pairs = zip(command.seqs, command.attempts, strict=True)
                envelopes = [Envelope(seq, attempt, SUCCESS, None, 8) for seq, attempt in pairs]
                inbox.append(Pulled(command.worker, batch))
                inbox.append(Finished(command.worker, envelopes))
            elif type(command) is CommitRun:
                inbox.append(Committed(command.end))
            elif type(command) is NeedItems:
                numbers = [number for _, number in zip(range(command.count), plan, strict=False)]
                items = [PlanItem(str(number)) for number in numbers] if named else [PlanItem() for _ in numbers]
                inbox.append(Planned(items, ended=len(items) < command.count))
    seconds = time.process_time() - began
    if kernel.summary is None or kernel.summary.succeeded != count:
        raise SystemExit(f"the run did not end well: {kernel.summary}")
    return seconds


def ledger_bytes(count: int, window: int = 8192) -> tuple[int, int]:
    """Peak traced bytes while `count` seqs pass through a ledger, and what it holds at the end."""
    ledger = Ledger()
    tracemalloc.start()
    for start in range(0, count, window):
        size = min(window, count - start)
        ledger.extend(size)
        ledger.lease(range(start, start + size), 1)
        ledger.settle(start, bytes([SUCCESS]) * size)
        ledger.commit(start + size)
        ledger.forget(start + size)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, held


def main() -> None:
    """Measure and print one line each, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seqs", type=int, default=10_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures: dict[str, float] = {}
    for batch in (1, options.batch):
        for named in (False, True):
            seconds = run_items(options.items, batch, workers=4, named=named)
            label = f"kernel_us_per_item_batch_{batch}" + ("_with_ids" if named else "")
            figures[label] = round(seconds / options.items * 1e6, 2)
    peak, held = ledger_bytes(options.seqs)
    figures["ledger_peak_mb"] = round(peak / 1e6, 1)
    figures["ledger_held_mb"] = round(held / 1e6, 1)
    if options.json:
        print(json.dumps(figures))
        return
    for label, value in figures.items():
        print(f"{label:40} {value}")


if __name__ == "__main__":
    main()
