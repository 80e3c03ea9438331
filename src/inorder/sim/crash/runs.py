"""Crashes complete runs, and checks that nothing is lost, repeated or different afterwards.

A `Trial` runs one case again and again. Before some durable operation the process dies, the power is lost, or the disk
fails. After a power loss, one of the possible states of the disk is used. The next process resumes from there, and may
be ended too. At the end everything must be as expected, byte for byte:

    for seed in range(10):
        Trial(draw_case(seed)).try_every_power_loss(states=20)

A broken promise raises `PromiseBroken`, which says what led to it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from errno import EIO
from itertools import islice
from random import Random
from typing import NamedTuple

from inorder.errors import InfrastructureError, IntegrityError
from inorder.journal.scan import ScanVerdict
from inorder.runtime.recovery import read_journal
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import PowerLoss, os_error
from inorder.sim.referee import PromiseBroken, expect

from .case import JOURNAL, MANIFEST, ROOT, CrashCase, draw_case, new_disk, predict_files
from .process import CrashedProcess

CHAINS = 12
"""Series of crashes per seed."""
CRASHES_MAX = 4
"""Crashes in one series, at most."""
STATES_MAX = 8
"""States after a power loss of which `try_random_crashes` uses one."""
SECOND_STATES_MAX = 5
"""States that are tried after a second power loss."""
RECOVERY_OPERATIONS = 12
"""Operations within which a process is still recovering."""

_CAUSES = {"power": "the power was lost", "death": "the process died", "failure": "the disk failed"}


def crash_seed(seed: int) -> "Trial":
    """Run the case of a seed through several series of crashes."""
    trial = Trial(draw_case(seed))
    try:
        for number in range(CHAINS):
            trial.try_random_crashes(number)
    except PromiseBroken as error:
        trial.broken_promise = str(error)
    return trial


class Handover(NamedTuple):
    """What one process leaves to the next."""

    disk: Disk
    kept: int = 0
    """Every seq below it must still be committed."""
    safe: int = 0
    """Every seq below it must still be committed after a power loss."""
    has_lost_power: bool = False
    staged: frozenset[int] = frozenset()
    """Seqs that must not be computed again: their results are staged."""

    def after_death(self, process: CrashedProcess) -> "Handover":
        """Return the state after the process died: everything that it wrote is kept."""
        self.disk.kill()
        kept, safe = max(self.kept, process.acknowledged), max(self.safe, process.promised)
        return self._replace(kept=kept, safe=safe, staged=self.staged | process.staged)

    def after_failure(self) -> "Handover":
        """Return the state after the disk failed and the process ended. Committed items may be processed again,
        because such a disk is not trusted."""
        self.disk.kill()
        return Handover(self.disk, has_lost_power=self.has_lost_power)

    def after_power_loss(self, process: CrashedProcess, found: Disk) -> "Handover":
        """Return the state after a power loss that left this disk."""
        safe = max(self.safe, process.promised)
        return Handover(found, safe, safe, has_lost_power=True)


class Trial:
    """One case, and every crash that can happen to it."""

    def __init__(self, case: CrashCase, disk: Disk | None = None) -> None:
        """The case starts on a copy of `disk`, or on an empty one."""
        self.case = case
        self.expected = predict_files(case)
        self.broken_promise: str | None = None
        self.losses = 0
        """States of the disk after a power loss."""
        self.recovered = 0
        """How many of them were different. The same state is recovered only once, because the result is the same."""
        self.deaths = 0
        """Processes that died without a power loss."""
        self.failures = 0
        """Processes that ended because the disk failed."""
        self._known: dict[bytes, int] = {}
        """By the fingerprint of a disk: the seq at which the run resumed."""
        self._disk = disk or new_disk()
        self._operations = 0

    # ---- Crashes

    def run_undisturbed(self) -> int:
        """Run without a crash. Returns the number of durable operations until the end, or until it is cancelled."""
        if not self._operations:
            left = self._new_handover()
            with _add_context("without a crash"):
                process, _ = self._run_process(left, None, is_first=True)
                self._operations = left.disk.operations - self._disk.operations
                self.recover(left.after_death(process))
        return self._operations

    def try_every_power_loss(self, states: int, *, again: float = 0.0, seed: int = 0) -> None:
        """Lose power before every operation and after the last, with up to `states` states of each.

        In a share `again` of them, the process that recovers loses power too.
        """
        rng = Random(f"{self.case.seed}/{seed}")
        for at in range(self.run_undisturbed() + 1):
            left = self._new_handover()
            process, when = self._run_process(left, at, is_first=True)
            for number, found in enumerate(left.disk.states(states, rng.getrandbits(32))):
                with _add_context(f"{when} the power was lost, state {number}"):
                    self._recover_found(left.after_power_loss(process, found), rng if rng.random() < again else None)

    def try_every_death(self, *, again: float = 0.0, seed: int = 0) -> None:
        """Kill the process before every operation and after the last. In a share `again` of them, the next process
        loses power."""
        rng = Random(f"{self.case.seed}/{seed}")
        for at in range(self.run_undisturbed() + 1):
            left = self._new_handover()
            process, when = self._run_process(left, at, is_first=True)
            with _add_context(f"{when} the process died"):
                left = left.after_death(process)
                self.deaths += 1
                self.check_what_readers_see(left.disk)
                copy, before = left._replace(disk=left.disk.copy()), left.disk.operations
                self.recover(left)
                if rng.random() < again:
                    self._interrupt(copy, left.disk.operations - before, rng)

    def try_random_crashes(self, seed: int) -> None:
        """Run through a random series of crashes, then to the end."""
        rng = Random(f"{self.case.seed}/{seed}/misfortunes")
        left, causes = self._new_handover(), ["at first"]
        for number in range(rng.randrange(1, CRASHES_MAX + 1)):
            at = rng.randrange(RECOVERY_OPERATIONS if number and rng.random() < 0.5 else self.run_undisturbed() + 1)
            kind = rng.choices(("power", "death", "failure"), (60, 25, 15))[0]
            with _add_context(", ".join(causes)):
                process, when = self._run_process(left, at, is_first=number == 0, fails=kind == "failure")
            causes.append(f"{when} {_CAUSES[kind]}")
            if kind == "power":
                chosen = rng.randrange(STATES_MAX)
                *_, found = islice(left.disk.states(STATES_MAX, rng.getrandbits(32)), chosen + 1)
                left = left.after_power_loss(process, found)
                self.losses += 1
            elif kind == "death":
                left = left.after_death(process)
                self.deaths += 1
            else:
                left = left.after_failure()
                self.failures += 1
        with _add_context(", ".join(causes)):
            self.recover(left)

    # ---- Processes

    def recover(self, left: Handover) -> int:
        """Resume to the end, and compare everything with what is expected. Returns the seq at which it resumed."""
        process, _ = self._run_process(left, None)
        expected, disk = self.expected, left.disk
        expect(process.summary == expected.summary, f"the summary is {expected.summary}, not {process.summary}")
        self._compare_manifest(disk, expected.end)
        self._compare_files(disk, expected.end)
        try:
            found, journal = read_journal(disk, JOURNAL)
        except IntegrityError as error:
            raise PromiseBroken(f"the journal can be read at the end, but {error}") from error
        expect(found.verdict is ScanVerdict.CLEAN, f"the journal is clean, not {found.verdict.value}: {found.message}")
        expect(journal.is_end, "the journal records the end of the run")
        expect(
            journal.newest_candidate.end == expected.end,
            f"{expected.end} are committed, not {journal.newest_candidate.end}",
        )
        return process.resumed_at

    def _new_handover(self) -> Handover:
        return Handover(self._disk.copy())

    def _run_process(
        self, left: Handover, at: int | None, *, is_first: bool = False, fails: bool = False
    ) -> tuple[CrashedProcess, str]:
        """Run a process until just before an operation, or to the end. Returns it and a text that says when it ended.

        Only the first process is cancelled. With `fails`, the first sync of a file from then on fails, and the process
        must end by itself.
        """
        disk, when = left.disk, "at the end"
        first = disk.operations

        def listen(number: int, name: str, path: str) -> None:
            nonlocal when
            if at is None or number - first < at or when != "at the end" or (fails and name != "sync"):
                return
            when = f"before operation {number - first} ({name} {path})"
            raise os_error(EIO, path) if fails else PowerLoss

        process = CrashedProcess(self.case, disk)
        disk.on_operation = listen
        try:
            process.run(may_cancel=is_first, on_opened=lambda end: self._check_opened(left, end))
        except PowerLoss:
            pass
        except PromiseBroken:
            raise
        except Exception as error:
            if not fails or not isinstance(error, InfrastructureError):
                raise PromiseBroken(f"the run cannot resume: {type(error).__name__}: {error}") from error
        finally:
            disk.on_operation = None
        process.check_books()
        repeated = sorted(left.staged & set(process.given))
        expect(not repeated, f"results that are staged are adopted, but seqs {repeated} were computed again")
        return process, when

    def _recover_found(self, left: Handover, again: Random | None) -> None:
        """Recover a disk after a power loss."""
        self.losses += 1
        fingerprint = left.disk.fingerprint()
        if fingerprint in self._known:
            _expect_kept(left.kept, self._known[fingerprint])
            return
        self.recovered += 1
        copy = left._replace(disk=left.disk.copy())
        self._known[fingerprint] = self.recover(left)
        if again is not None:
            self._interrupt(copy, left.disk.operations, again)

    def _interrupt(self, left: Handover, operations: int, rng: Random) -> None:
        """Resume, lose power before the end, and resume again."""
        at = rng.randrange(operations if rng.random() < 0.5 else min(operations, RECOVERY_OPERATIONS))
        process, when = self._run_process(left, at)
        for number, found in enumerate(left.disk.states(SECOND_STATES_MAX, rng.getrandbits(32))):
            with _add_context(f"{when} of the next process the power was lost, state {number}"):
                self._recover_found(left.after_power_loss(process, found), None)

    # ---- Checks

    def check_what_readers_see(self, disk: Disk) -> None:
        """Check that a reader sees nothing that is wrong or incomplete."""
        manifest = disk.read(MANIFEST) if disk.stat(MANIFEST) else b""
        is_right = self.expected.manifest(self.expected.end).startswith(manifest)
        expect(is_right, f"the manifest grows by the right rows, not to {manifest!r}")
        self._compare_files(disk, self.expected.end, may_lack=True)

    def _check_opened(self, left: Handover, end: int) -> None:
        """Check that everything to be kept is there, and nothing that was not committed. One exception: where outcomes
        are not durable before a sink changes, it is unknown after a power loss which files were published."""
        _expect_kept(left.kept, end)
        self._compare_manifest(left.disk, end)
        if not left.has_lost_power or self.case.journal.fsync in ("always", "batch"):
            self._compare_files(left.disk, end)

    def _compare_manifest(self, disk: Disk, end: int) -> None:
        expected, manifest = self.expected.manifest(end), disk.read(MANIFEST)
        expect(manifest == expected, f"the manifest at seq {end} is {expected!r}, not {manifest!r}")

    def _compare_files(self, disk: Disk, end: int, *, may_lack: bool = False) -> None:
        expected = self.expected.files_at(end)
        files = disk.tree(ROOT) if disk.stat(ROOT) else {}
        wrong = [path for path in files | expected if files.get(path) != expected.get(path)]
        wrong = [path for path in wrong if path in files or not may_lack]
        expect(not wrong, f"the files at seq {end} are as expected, except {', '.join(sorted(wrong))}")


def _expect_kept(kept: int, resumed_at: int) -> None:
    expect(resumed_at >= kept, f"{kept} items were durable, but the run resumed at seq {resumed_at}")


@contextmanager
def _add_context(when: str) -> Iterator[None]:
    """Add to a broken promise what led to it."""
    try:
        yield
    except PromiseBroken as broken_promise:
        raise PromiseBroken(f"{when}: {broken_promise}") from broken_promise
