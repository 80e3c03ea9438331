"""The simulator on the command line: `run`, `hunt`, `soak`, `explore`."""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable

from .explore import Scope, explore
from .marks import ALL, marks_of
from .world import Report, run_seed

_PROGRESS_S = 5.0


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 every promise was kept, 6 one was broken."""
    parser = argparse.ArgumentParser(prog="python -m inorder.sim", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run one seed and print its transcript")
    run.add_argument("seed", type=int)
    hunt = commands.add_parser("hunt", help="run a range of seeds, stop at the first that breaks a promise")
    hunt.add_argument("--first", type=int, default=0)
    hunt.add_argument("--count", type=int, default=1000)
    soak = commands.add_parser("soak", help="run fresh seeds for a time, then say what was done")
    soak.add_argument("--seconds", type=float, default=60.0)
    soak.add_argument("--first", type=int, default=1_000_000)
    scope = commands.add_parser("explore", help="run every interleaving of a small scope")
    scope.add_argument("--items", type=int, default=4)
    scope.add_argument("--workers", type=int, default=2)
    scope.add_argument("--faults", type=int, default=1)
    scope.add_argument("--batch-limit", type=int, default=2)
    scope.add_argument("--error-budget", type=int, default=None)
    options = parser.parse_args(arguments)
    if options.command == "run":
        return _run(options.seed)
    if options.command == "hunt":
        return _hunt(range(options.first, options.first + options.count))
    if options.command == "soak":
        return _soak(options.first, options.seconds)
    return _explore(
        Scope(
            items=options.items,
            workers=options.workers,
            faults=options.faults,
            batch_limit=options.batch_limit,
            error_budget=options.error_budget,
        )
    )


def _run(seed: int) -> int:
    report = run_seed(seed, keep_log=True)
    print("\n".join(report.transcript()))
    print(f"seed {seed}: {report.steps} steps, {report.summary}")
    if report.is_fatal:
        print("the engine answered twice and was caught, as it must be")
    return _verdict(report)


def _verdict(report: Report) -> int:
    if report.foul is None:
        return 0
    print(f"seed {report.scenario.seed} broke a promise: {report.foul}")
    print(f"replay it with: python -m inorder.sim run {report.scenario.seed}")
    return 6


def _hunt(seeds: Iterable[int]) -> int:
    done = 0
    for seed in seeds:
        status = _verdict(run_seed(seed))
        if status:
            print("\n".join(run_seed(seed, keep_log=True).transcript()[-40:]))
            return status
        done += 1
    print(f"{done} seeds kept every promise")
    return 0


def _soak(first: int, seconds: float) -> int:
    began_s = told_s = time.monotonic()
    seed = first
    steps = 0
    faults: Counter[str] = Counter()
    marks: Counter[str] = Counter()
    while (now_s := time.monotonic()) - began_s < seconds or seed == first:
        report = run_seed(seed)
        seed += 1
        steps += report.steps
        faults.update(report.faults)
        marks.update(marks_of(report))
        if _verdict(report):
            return 6
        if now_s - told_s >= _PROGRESS_S:
            told_s = now_s
            print(f"{seed - first} schedules, {steps} events, {sum(faults.values())} faults", file=sys.stderr)
    deaths = sum(faults[name] for name in ("die", "weather", "hostile", "retire"))
    print(f"schedules      {seed - first} (seeds {first} to {seed - 1})")
    print(f"events         {steps}")
    print(f"crashes        {deaths} workers lost")
    print(f"faults         {sum(faults.values())}: " + ", ".join(f"{n} {name}" for name, n in faults.most_common()))
    hit = [mark for mark in ALL if marks[mark]]
    print(f"marks hit      {len(hit)} of {len(ALL)}")
    for mark in ALL:
        print(f"  {marks[mark]:>9}  {mark}")
    return 0


def _explore(scope: Scope) -> int:
    count = 0
    for finding in explore(scope):
        count += 1
        if finding is not None:
            print("\n".join(finding.transcript))
            print("\n".join(f"  {choice}" for choice in finding.choices))
            print(f"interleaving {count} broke a promise: {finding.foul}")
            return 6
    print(f"{count} interleavings of {scope} kept every promise")
    return 0


if __name__ == "__main__":
    sys.exit(main())
