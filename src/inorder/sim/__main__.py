"""The simulator on the command line: `run`, `hunt`, `crash`, `soak`, `explore`."""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable

import msgspec

from .coverage import ALL, find_marks
from .crash.runs import Trial, crash_seed
from .explore import Scope, explore
from .world import WorldReport, run_seed

_PROGRESS_S = 5.0


def main(arguments: list[str] | None = None) -> int:
    """Return the exit status: 0 promises kept, 2 a bad option, 6 a broken promise."""
    parser = argparse.ArgumentParser(prog="python -m inorder.sim", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run one seed and print its transcript")
    run.add_argument("seed", type=int)
    hunt = commands.add_parser("hunt", help="run a range of seeds, and stop at the first broken promise")
    hunt.add_argument("--first", type=int, default=0)
    hunt.add_argument("--count", type=int, default=1000)
    crash = commands.add_parser("crash", help="crash the journaled run of one seed, and check its recovery")
    crash.add_argument("seed", type=int)
    soak = commands.add_parser("soak", help="run and crash new seeds for some time, then print a report")
    soak.add_argument("--seconds", type=float, default=60.0)
    soak.add_argument("--first", type=int, default=1_000_000)
    scope = commands.add_parser("explore", help="run every interleaving of a small scope")
    for field in msgspec.structs.fields(Scope):
        scope.add_argument(f"--{field.name.replace('_', '-')}", type=int, default=field.default)
    options = parser.parse_args(arguments)
    if options.command == "run":
        return _run(options.seed)
    if options.command == "hunt":
        return _hunt(range(options.first, options.first + options.count))
    if options.command == "crash":
        return _crash(options.seed)
    if options.command == "soak":
        return _soak(options.first, options.seconds)
    return _explore(Scope(**{name: getattr(options, name) for name in Scope.__struct_fields__}))


def _run(seed: int) -> int:
    report = run_seed(seed, keep_log=True)
    print("\n".join(report.transcript()))
    print(f"seed {seed}: {report.steps} steps, {report.summary}")
    if report.is_fatal:
        print("the engine answered twice, and the kernel aborted as it must")
    return _print_verdict(report)


def _print_verdict(report: WorldReport) -> int:
    return _print_promise("seed", "run", report.scenario.seed, report.broken_promise)


def _print_promise(kind: str, command: str, seed: int, broken_promise: str | None) -> int:
    """Print how a seed broke a promise, if it did. Returns the exit status."""
    if broken_promise is None:
        return 0
    print(f"{kind} {seed} broke a promise: {broken_promise}")
    print(f"replay it with: python -m inorder.sim {command} {seed}")
    return 6


def _hunt(seeds: Iterable[int]) -> int:
    done = 0
    for seed in seeds:
        status = _print_verdict(run_seed(seed))
        if status:
            print("\n".join(run_seed(seed, keep_log=True).transcript()[-40:]))
            return status
        done += 1
    print(f"{done} seeds kept every promise")
    return 0


def _crash(seed: int) -> int:
    report = crash_seed(seed)
    scenario = report.case.scenario
    for number, item in enumerate(scenario.items):
        print(f"{number:>4}  {item.fate} after {item.failures} failures, {item.duration_ms} ms, {item.result_bytes} B")
    print(f"{scenario.workers} workers, {report.case.journal}")
    print(f"crash seed {seed}: {report.losses} power losses, {report.deaths} deaths, {report.failures} disk failures")
    return _print_crash_verdict(report)


def _print_crash_verdict(report: Trial) -> int:
    return _print_promise("crash seed", "crash", report.case.seed, report.broken_promise)


class _Soak:
    """The counts of a soak. Half of the time goes to simulations of workers, half to crashes of complete runs."""

    def __init__(self, first: int) -> None:
        self.first = self.seed = self.crash_at = first
        self.steps = self.losses = self.deaths = self.failures = 0
        self.faults: Counter[str] = Counter()
        self.marks: Counter[str] = Counter()
        self._spent_s = {"worlds": 0.0, "crashes": 0.0}

    def turn(self) -> int:
        """Run one more seed, of the kind that had less time."""
        began_s = time.monotonic()
        kind = min(self._spent_s, key=lambda kind: self._spent_s[kind])
        status = self._run_world() if kind == "worlds" else self._run_crash_case()
        self._spent_s[kind] += time.monotonic() - began_s
        return status

    def _run_world(self) -> int:
        report = run_seed(self.seed)
        self.seed += 1
        self.steps += report.steps
        self.faults.update(report.faults)
        self.marks.update(find_marks(report))
        return _print_verdict(report)

    def _run_crash_case(self) -> int:
        report = crash_seed(self.crash_at)
        self.crash_at += 1
        self.losses += report.losses
        self.deaths += report.deaths
        self.failures += report.failures
        return _print_crash_verdict(report)

    @property
    def is_enough(self) -> bool:
        """Whether at least one seed of each kind was run."""
        return self.seed > self.first and self.crash_at > self.first

    def format_progress(self) -> str:
        """Format the counts as one line."""
        worlds, cases = self.seed - self.first, self.crash_at - self.first
        return (
            f"{worlds} schedules, {self.steps} events, {sum(self.faults.values())} faults; "
            f"{cases} crash cases, {self.losses} power losses"
        )

    def format_report(self) -> list[str]:
        """Format the full report, as lines."""
        lost = sum(self.faults[name] for name in ("die", "machine_loss", "hostile", "retire"))
        faults = ", ".join(f"{count} {name}" for name, count in self.faults.most_common())
        hit = [mark for mark in ALL if self.marks[mark]]
        return [
            f"schedules      {self.seed - self.first} (seeds {self.first} to {self.seed - 1})",
            f"events         {self.steps}",
            f"crashes        {lost} workers lost",
            f"faults         {sum(self.faults.values())}: {faults}",
            f"crash cases    {self.crash_at - self.first} (crash seeds {self.first} to {self.crash_at - 1})",
            f"recovered      {self.losses} power losses, {self.deaths} deaths, {self.failures} disk failures",
            f"marks hit      {len(hit)} of {len(ALL)}",
            *(f"  {self.marks[mark]:>9}  {mark}" for mark in ALL),
        ]


def _soak(first: int, seconds: float) -> int:
    began_s = reported_s = time.monotonic()
    soak = _Soak(first)
    while (now_s := time.monotonic()) - began_s < seconds or not soak.is_enough:
        status = soak.turn()
        if status:
            return status
        if now_s - reported_s >= _PROGRESS_S:
            reported_s = now_s
            print(soak.format_progress(), file=sys.stderr)
    print("\n".join(soak.format_report()))
    return 0


def _explore(scope: Scope) -> int:
    count = 0
    for finding in explore(scope):
        count += 1
        if finding is not None:
            print("\n".join(finding.transcript))
            print("\n".join(f"  {choice}" for choice in finding.choices))
            print(f"interleaving {count} broke a promise: {finding.broken_promise}")
            return 6
    print(f"{count} interleavings of {scope} kept every promise")
    return 0


if __name__ == "__main__":
    sys.exit(main())
