"""Disturb real runs for as long as it is told, and compare what is left with an undisturbed run.

    python -m tools.soak [--seconds N] [--first SEED] [--turns N] [--disturbances N] [--only KIND]

The simulator runs beside it for the same time, unless a number of turns is given. A turn has a seed. It makes sources
and DATA, and then disturbs commands one after the other: they are killed, stopped by a signal, halted for a moment,
lose a worker process, or find the disk full, while files change. The commands are `run` with worker processes and with
threads, `watch`, `export` to a folder, and `run --to` a database that needs no server, if its package is installed.
After that one run is left in peace, and so is one in new DATA. Both must have the same content, failures, answers,
exports and rows in the database, `verify` must find nothing, and neither processes nor temporary files may be left.

A seed repeats the changes and the kinds of disturbances; the moments at which they come depend on the machine. A turn
that found something keeps its folder.
"""

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path

from bench.damage import ask, make_sources
from tests.connectors.drivers import Drivers, open_drivers
from tests.connectors.run_targets import DuckDBRuns, LanceRuns, RunTarget
from tests.pipeline.runs import Library
from tests.support.misbehaviour import GUARD_S, Endings

SAMPLE = Path(__file__).parents[1] / "examples" / "sample"
TARGETS = {"duckdb": DuckDBRuns, "lance": LanceRuns}
ENDED = {"run": (0, 3), "watch": (143,), "export": (0, 2), "verify": (0,)}
"""The exit codes of commands that came to their end. An export has nothing to export at first."""
MARK = "SOAK_TURN"
SETTINGS = {"INORDER_WINDOWS_ENTRIES": "8", "INORDER_QUIET": "true", "INORDER_WORKERS": "2", "INORDER_TIMEOUT_S": "60"}
MODULES = ("inorder.pipeline.run", "inorder.pipeline.steps", "inorder.dataset.export.export", "inorder.watch.loop")
DISK_BYTES = 64 * 2**20
HANGS_S = 10 * GUARD_S
"""The machine may be busy with something else."""
WEIGHTS = {"kill": 10, "stop": 3, "halt": 1, "kill a worker": 2, "limit file sizes": 2, "fill the disk": 2}


class Finding(Exception):
    """What a turn has found."""


class Turn:
    """Disturbances of one DATA, and the comparison with another that nothing disturbs."""

    def __init__(self, seed: int, folder: Path, drivers: Drivers, disk: Path | None, counts: Counter[str]) -> None:
        """The processes of `drivers` have the mark of the seed. `disk` is one that can be filled."""
        self.chance = random.Random(seed)
        self.folder = folder
        self.drivers = drivers
        self.disk = disk
        self.counts = counts
        self.docs = folder / "docs"
        self.duration_s = 2.0  # how long a command runs before it is disturbed, at most
        self.mark = f"{MARK}={seed}".encode()
        name = self.chance.choice(["", *(name for name in TARGETS if find_spec(name))])
        self.target: RunTarget | None = TARGETS[name](folder) if name else None

    def do(self, disturbances: int, only: str | None) -> None:
        """Disturb so many commands, and compare."""
        make_sources(self.docs)
        shutil.copytree(SAMPLE, self.docs / "sample")
        for place in ("killed", "peaceful"):
            (self.folder / place).mkdir()
        if self.disk:
            (self.disk / "data").mkdir()
            (self.folder / "killed" / "data").symlink_to(self.disk / "data")
        kinds = [only] if only else [kind for kind in WEIGHTS if self.disk or kind != "fill the disk"]
        for number in range(disturbances):
            self.change(number)
            self.disturb(self.chance.choices(kinds, [WEIGHTS[kind] for kind in kinds])[0])
        for place in ("killed", "peaceful"):
            self.complete(self.list_run(place))
            self.complete(self.list_export(place))
            self.complete(["verify", "--data", f"{place}/data"])
        self.compare()

    # ---- commands

    def list_run(self, place: str, command: str = "run") -> list[str]:
        """The arguments of a run with processes or threads."""
        policy = self.chance.choice(["cpu", "io"])
        to = self.target.find_arguments(place) if self.target else []
        return [command, str(self.docs), "--data", f"{place}/data", "--policy", policy, "--dense", "static", *to]

    def list_export(self, place: str) -> list[str]:
        """The arguments of an export to a folder."""
        return ["export", "--data", f"{place}/data", "--to", f"{place}/tables", "--format", "jsonl"]

    def complete(self, line: list[str]) -> None:
        """Run a command that nothing disturbs."""
        self.check(self.end(line, self.drivers.start(*line), None), ENDED[line[0]], line)
        self.counts[f"complete {line[0]}"] += 1

    def disturb(self, kind: str) -> None:
        """Start a command, and disturb it in this way at a random moment."""
        lines = {"run": self.list_run("killed"), "watch": self.list_run("killed", "watch")}
        lines["export"] = self.list_export("killed")
        name = self.chance.choices(["run", "watch", "export"], [6, 2, 1])[0]
        pid = self.drivers.start(*lines[name])
        has_ended = self.drivers.has_ended(self.chance.uniform(0, self.duration_s))
        self.duration_s *= 0.7 if has_ended else 1.1
        if has_ended and name == "watch":
            raise Finding(f"a watch ended with {self.drivers.wait()}: {lines[name]}")
        self.counts[f"{kind}, {name}{': had ended before' if has_ended else ''}"] += 1
        act: Callable[[int], tuple[int, ...]] = getattr(self, kind.replace(" ", "_"))
        expected = ENDED[name] if has_ended else (*ENDED[name], *act(pid))
        if name == "watch":
            self.drivers.has_ended(self.chance.uniform(0, self.duration_s))
            self.change(1)
            self.drivers.has_ended(self.chance.uniform(0, 2.0))
        self.check(self.end(lines[name], pid, signal.SIGTERM if name == "watch" else None), expected, lines[name])
        with suppress(OSError):
            (self.folder / "killed" / "data").resolve().with_name("ballast").unlink()

    def end(self, line: list[str], pid: int, number: signal.Signals | None) -> int:
        """Wait until a command has ended, after a signal that asks for it. Returns the exit code."""
        if number is not None and not self.drivers.has_ended(0):
            os.kill(pid, number)
        if not self.drivers.has_ended(HANGS_S):
            os.kill(pid, signal.SIGKILL)
            self.drivers.wait()
            raise Finding(f"it hangs: {line}")
        return self.drivers.wait()

    def check(self, code: int, expected: tuple[int, ...], line: list[str]) -> None:
        """Check how a command has ended, and that it has left no process."""
        said = self.drivers.log.read_text(errors="replace")
        if code not in expected or "Traceback" in said:
            raise Finding(f"exit code {code}, not one of {expected}: {line}")
        if not Endings(self.list_processes()).come():
            raise Finding(f"processes are left {self.list_processes()}: {line}")

    def list_processes(self) -> list[int]:
        """The processes of this turn, but the one that forks."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if self.mark in path.read_bytes().split(b"\0") and int(path.parent.name) != self.drivers.pid:
                    found.append(int(path.parent.name))
        return found

    # ---- disturbances; each returns what else the exit code may be

    def kill(self, pid: int) -> tuple[int, ...]:
        os.kill(pid, signal.SIGKILL)
        return (-signal.SIGKILL,)

    def stop(self, pid: int) -> tuple[int, ...]:
        os.kill(pid, self.chance.choice([signal.SIGTERM, signal.SIGINT]))
        return (130, 143)

    def halt(self, pid: int) -> tuple[int, ...]:
        """Halt everything for a moment."""
        halted = self.list_processes()
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for each in halted:
                with suppress(ProcessLookupError):
                    os.kill(each, number)
            time.sleep(self.chance.uniform(0, 0.5))
        return ()

    def kill_a_worker(self, pid: int) -> tuple[int, ...]:
        workers = [each for each in self.list_processes() if each != pid]
        if workers:
            with suppress(ProcessLookupError):
                os.kill(self.chance.choice(workers), signal.SIGKILL)
        return ()

    def limit_file_sizes(self, pid: int) -> tuple[int, ...]:
        """Let no file grow beyond a size, for the process that writes."""
        size = self.chance.randrange(2**20)
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, size))
        return (1,)

    def fill_the_disk(self, pid: int) -> tuple[int, ...]:
        """Leave little room on the disk of DATA."""
        assert self.disk is not None
        left = self.chance.randrange(200_000)
        with suppress(OSError), (self.disk / "ballast").open("wb") as ballast:
            free = os.statvfs(self.disk)
            os.posix_fallocate(ballast.fileno(), 0, max(1, free.f_bavail * free.f_frsize - left))
        return (1,)

    # ---- sources

    def change(self, number: int) -> None:
        """Change, move, remove and add some files, also while a run reads them."""
        for path in sorted(path for path in self.docs.iterdir() if path.suffix in (".md", ".py")):
            drawn = self.chance.random()
            if drawn < 0.04:
                path.unlink()
            elif drawn < 0.08:
                path.rename(path.with_stem(f"{path.stem[:40]}_{number}"))
            elif drawn < 0.25:
                path.write_bytes(path.read_bytes() + b"\n\n# Edition %d\n" % self.chance.randrange(10**6))
            elif drawn < 0.27:
                path.write_bytes(self.chance.randbytes(500))
            elif drawn < 0.30:
                shutil.copyfile(path, path.with_stem(f"copy_{self.chance.randrange(10**6)}"))
        odd = os.fsencode(self.docs) + b"/caf\xe9 %d.md" % number
        with open(odd, "wb") as file:
            file.write(b"# Storm\n\nThe lamp of the harbour, %d.\n" % self.chance.randrange(10**6))

    # ---- comparison

    def compare(self) -> None:
        """Compare everything that users see."""
        places = {place: self.folder / place for place in ("killed", "peaceful")}
        difference = find_difference(*places.values())
        if difference:
            raise Finding(f"{difference} differ from those of an undisturbed run")
        if self.target and self.target.read("killed") != self.target.read("peaceful"):
            raise Finding("rows in the database differ from those of an undisturbed run")
        if left := sorted(path.name for path in (self.folder / "tmp").iterdir()):
            raise Finding(f"temporary files are left: {left}")


def find_difference(one: Path, other: Path) -> str:
    """What differs between two folders with DATA and an export of it; empty if nothing does."""
    libraries = [Library((folder / "data").resolve()) for folder in (one, other)]
    for name in ("read_content_hash", "list_failures", "list_copies", "list_searchable"):
        if len({repr(getattr(library, name)()) for library in libraries}) > 1:
            return name.partition("_")[2]
    tables = [
        {path.relative_to(folder): path.read_bytes() for path in (folder / "tables").rglob("*.json*")}
        for folder in (one, other)
    ]
    if tables[0] != tables[1]:
        return "exports"
    answers = [{name: (ended.code, ended.out) for name, ended in ask(folder).items()} for folder in (one, other)]
    return ", ".join(f"answers ({name})" for name in answers[0] if answers[0][name] != answers[1][name])


@contextmanager
def mount_disk(folder: Path) -> Iterator[Path | None]:
    """Mount a small file system in memory; None if this user may not."""
    disk = folder / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "soak", str(disk)]
    if not shutil.which("mount") or subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode:
        yield None
        return
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def take_turn(seed: int, root: Path, counts: Counter[str], disturbances: int, only: str | None) -> str:
    """Take a turn. Returns what it has found; empty if that is nothing."""
    folder = root / str(seed)
    (folder / "tmp").mkdir(parents=True)
    environment = {**SETTINGS, MARK: str(seed), "TMPDIR": str(folder / "tmp")}
    found = ""
    try:
        with mount_disk(folder) as disk, open_drivers(folder, environment, *MODULES) as drivers:
            counts["turn" if disk else "turn without a disk that can be filled"] += 1
            turn = Turn(seed, folder, drivers, disk, counts)
            try:
                turn.do(disturbances, only)
            except Finding as finding:
                found = f"{finding}\n{drivers.log.read_text(errors='replace')[-2000:]}"
                if disk and (disk / "data").exists():
                    shutil.copytree(disk / "data", folder / "killed" / "data of the disk")
            finally:
                for pid in turn.list_processes():
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
    finally:
        if not found:
            shutil.rmtree(folder)
    return found


@contextmanager
def simulate(seconds: float, first: int, out: Path) -> Iterator[Callable[[], int]]:
    """Run the simulator beside, and yield what waits for its exit code."""
    command = [sys.executable, "-m", "inorder.sim", "soak", "--seconds", str(seconds), "--first", str(first)]
    with out.open("w") as file, subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT) as process:
        try:
            yield process.wait
        finally:
            process.kill()


def take_turns(options: argparse.Namespace, root: Path) -> int:
    """Take turns until the time is over, or all that are asked for, and print a report. Returns how many found
    something."""
    counts: Counter[str] = Counter()
    findings = 0
    began_s = time.monotonic()
    seed = options.first
    while seed - options.first < options.turns if options.turns else time.monotonic() - began_s < options.seconds:
        turn_s = time.monotonic()
        found = take_turn(seed, root, counts, options.disturbances, options.only)
        print(f"turn {seed}: {time.monotonic() - turn_s:.0f} s", flush=True)
        if found:
            findings += 1
            print(f"found in turn {seed}, kept in {root / str(seed)}: {found}", flush=True)
            print(f"take it again with: python -m tools.soak --turns 1 --first {seed}", flush=True)
        seed += 1
    print(f"real runs: {seed - options.first} turns (seeds {options.first} to {seed - 1}), {findings} findings")
    for name, count in sorted(counts.items()):
        print(f"{count:>11}  {name}")
    return findings


def main(arguments: list[str] | None = None) -> int:
    """Read the options, and soak."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--first", type=int, default=1_000_000, help="the seed of the first turn, and of the simulator")
    parser.add_argument("--turns", type=int, help="so many turns, whatever time they take")
    parser.add_argument("--disturbances", type=int, default=16, help="per turn")
    parser.add_argument("--only", choices=list(WEIGHTS), help="the one kind of disturbances")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    root = Path(tempfile.mkdtemp(prefix="inorder-soak-"))
    out = root / "simulator"
    try:
        with simulate(options.seconds, options.first, out) if not options.turns else nullcontext() as wait:
            findings = take_turns(options, root)
            code = wait() if wait else 0
        if wait:
            print(f"simulator:\n{out.read_text()}", end="")
    finally:
        out.unlink(missing_ok=True)
        with suppress(OSError):  # the folder of a turn that found something stays
            root.rmdir()
    return 6 if findings else code


if __name__ == "__main__":
    sys.exit(main())
