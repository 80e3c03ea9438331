"""Crashes whole runs, and sees to it that nothing is lost, repeated, or different afterwards.

A `Trial` tells one story again and again. The process dies, or the power goes, before some durable operation, or the
disk fails it. Of all that the disk may hold after a loss of power one state is found. The next process goes on from
there, and may be ended too. In the end everything must be as the story foretells, byte for byte:

    for seed in range(10):
        Trial(draw_story(seed)).every_loss_of_power(states=20)

Whatever breaks a promise raises `Foul`, which tells what led to it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from errno import EIO
from itertools import islice
from random import Random
from typing import NamedTuple

import msgspec

from inorder.errors import InfrastructureError, IntegrityError
from inorder.journal.scan import ScanVerdict
from inorder.runtime.recovery import read_journal
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import PowerLoss, trouble
from inorder.sim.referee import Foul, demand

from .life import Life
from .story import JOURNAL, MANIFEST, ROOT, Story, draw_story, foretold, new_disk

CHAINS = 12
"""Series of misfortunes that one seed goes through."""
LIVES_MAX = 4
"""How often a run is interrupted by `misfortunes` at most."""
STATES_MAX = 8
"""Of so many states after a loss of power `misfortunes` finds one."""
AGAIN = 5
"""States that are tried after a second loss of power."""
EARLY = 12
"""Operations within which a process is still recovering from what the one before it left."""


_HAPPENED = {"power": "the power went", "death": "the process died", "failure": "the disk failed"}


class CrashReport(msgspec.Struct, kw_only=True):
    """What became of one seed."""

    story: Story
    foul: str | None
    losses: int
    deaths: int
    failures: int


def crash_seed(seed: int) -> CrashReport:
    """The story of this seed, under a dozen series of misfortunes."""
    trial = Trial(draw_story(seed))
    foul = None
    try:
        for number in range(CHAINS):
            trial.misfortunes(number)
    except Foul as error:
        foul = str(error)
    return CrashReport(story=trial.story, foul=foul, losses=trial.losses, deaths=trial.deaths, failures=trial.failures)


class Left(NamedTuple):
    """What the processes so far leave to the next one."""

    disk: Disk
    kept: int = 0
    """Every seq below it must be committed still."""
    safe: int = 0
    """Every seq below it must be committed still, should the power go now."""
    has_lost_power: bool = False

    def after_death(self, life: Life) -> "Left":
        """The process has died, and all that it wrote is there."""
        self.disk.kill()
        return self._replace(kept=max(self.kept, life.acknowledged), safe=max(self.safe, life.promised))

    def after_failure(self) -> "Left":
        """The disk has failed the process, which has ended. What was committed may be done again: less is believed of
        such a disk."""
        self.disk.kill()
        return Left(self.disk, has_lost_power=self.has_lost_power)

    def after_power_loss(self, life: Life, found: Disk) -> "Left":
        """The power went, and this disk was found."""
        safe = max(self.safe, life.promised)
        return Left(found, safe, safe, has_lost_power=True)


class Trial:
    """One story, and everything that can happen to it."""

    def __init__(self, story: Story, disk: Disk | None = None) -> None:
        """`disk`: a copy of it is what the story begins on, if that is not to be an empty one."""
        self.story = story
        self.wanted = foretold(story)
        self.losses = 0
        """Disks found after a loss of power."""
        self.healed = 0
        """How many of them were different ones: a disk that was seen before is not healed again, for that would end in
        the same way."""
        self.deaths = 0
        """Processes that died on a machine that lived on."""
        self.failures = 0
        """Processes that ended because the disk failed."""
        self._known: dict[bytes, int] = {}
        """By the fingerprint of a disk that was found: the seq that the run went on from."""
        self._disk = disk or new_disk()
        self._operations = 0

    # ---- what can happen

    def undisturbed(self) -> int:
        """Nothing happens. How many durable operations it takes to the end, or until the run is cancelled."""
        if not self._operations:
            left = self._new()
            with _told("nothing happened"):
                life, _ = self._live(left, None, is_first=True)
                self._operations = left.disk.operations - self._disk.operations
                self.heal(left.after_death(life))
        return self._operations

    def every_loss_of_power(self, states: int, *, again: float = 0.0, seed: int = 0) -> None:
        """Before every operation, and after the last; up to so many states of each. In a share `again` of them the
        process that heals the disk loses power too, at some operation of its own."""
        rng = Random(f"{self.story.seed}/{seed}")
        for at in range(self.undisturbed() + 1):
            left = self._new()
            life, when = self._live(left, at, is_first=True)
            for number, found in enumerate(left.disk.states(states, rng.getrandbits(32))):
                with _told(f"{when} the power went and state {number} was found"):
                    self._find(left.after_power_loss(life, found), rng if rng.random() < again else None)

    def every_death(self, *, again: float = 0.0, seed: int = 0) -> None:
        """The process dies before every operation, and after the last, while the machine lives on. In a share `again`
        of them the next process loses power."""
        rng = Random(f"{self.story.seed}/{seed}")
        for at in range(self.undisturbed() + 1):
            left = self._new()
            life, when = self._live(left, at, is_first=True)
            with _told(f"{when} the process died"):
                left = left.after_death(life)
                self.deaths += 1
                self.look(left.disk)
                twin, before = left._replace(disk=left.disk.copy()), left.disk.operations
                self.heal(left)
                if rng.random() < again:
                    self._interrupt(twin, left.disk.operations - before, rng)

    def misfortunes(self, seed: int) -> None:
        """One thing happens after the other, until at last nothing does."""
        rng = Random(f"{self.story.seed}/{seed}/misfortunes")
        left, told = self._new(), ["at first"]
        for number in range(rng.randrange(1, LIVES_MAX + 1)):
            at = rng.randrange(EARLY if number and rng.random() < 0.5 else self.undisturbed() + 1)
            kind = rng.choices(("power", "death", "failure"), (60, 25, 15))[0]
            with _told(", ".join(told)):
                life, when = self._live(left, at, is_first=number == 0, fails=kind == "failure")
            told.append(f"{when} {_HAPPENED[kind]}")
            if kind == "power":
                chosen = rng.randrange(STATES_MAX)
                *_, found = islice(left.disk.states(STATES_MAX, rng.getrandbits(32)), chosen + 1)
                left = left.after_power_loss(life, found)
                self.losses += 1
            elif kind == "death":
                left = left.after_death(life)
                self.deaths += 1
            else:
                left = left.after_failure()
                self.failures += 1
        with _told(", ".join(told)):
            self.heal(left)

    # ---- one process after the other

    def heal(self, left: Left) -> int:
        """Go on to the end, and compare everything with what was foretold. The seq it went on from."""
        life, _ = self._live(left, None)
        wanted, disk = self.wanted, left.disk
        demand(life.summary == wanted.summary, f"the summary is {wanted.summary}, not {life.summary}")
        self._compare(disk, wanted.end)
        self._compare_files(disk, wanted.end)
        try:
            found, journal = read_journal(disk, JOURNAL)
        except IntegrityError as error:
            raise Foul(f"the journal can be read in the end, but {error}") from error
        demand(found.verdict is ScanVerdict.CLEAN, f"the journal is clean, not {found.verdict.value}: {found.message}")
        demand(journal.is_end, "the journal says that the run went to its end")
        demand(
            journal.newest_candidate.end == wanted.end,
            f"{wanted.end} are committed, not {journal.newest_candidate.end}",
        )
        return life.resumed_at

    def _new(self) -> Left:
        return Left(self._disk.copy())

    def _live(self, left: Left, at: int | None, *, is_first: bool = False, fails: bool = False) -> tuple[Life, str]:
        """Live until just before an operation, or to the end; when that was. Only the first process is cancelled.
        `fails`: the first sync of a file from then on fails, and the process must end by itself."""
        disk, when = left.disk, "at the end"
        first = disk.operations

        def listen(number: int, name: str, path: str) -> None:
            nonlocal when
            if at is None or number - first < at or when != "at the end" or (fails and name != "sync"):
                return
            when = f"before operation {number - first} ({name} {path})"
            raise trouble(EIO, path) if fails else PowerLoss

        life = Life(self.story, disk)
        disk.on_operation = listen
        try:
            life.live(may_cancel=is_first, on_opened=lambda end: self._check_opened(left, end))
        except PowerLoss:
            pass
        except Foul:
            raise
        except Exception as error:
            if not fails or not isinstance(error, InfrastructureError):
                raise Foul(f"the run cannot go on: {type(error).__name__}: {error}") from error
        finally:
            disk.on_operation = None
        life.check_books()
        return life, when

    def _find(self, left: Left, again: Random | None) -> None:
        """A disk after a loss of power, to be healed."""
        self.losses += 1
        fingerprint = left.disk.fingerprint()
        if fingerprint in self._known:
            _demand_kept(left.kept, self._known[fingerprint])
            return
        self.healed += 1
        twin = left._replace(disk=left.disk.copy())
        self._known[fingerprint] = self.heal(left)
        if again is not None:
            self._interrupt(twin, left.disk.operations, again)

    def _interrupt(self, left: Left, operations: int, rng: Random) -> None:
        """Go on, but not to the end; lose power, and go on for good."""
        at = rng.randrange(operations if rng.random() < 0.5 else min(operations, EARLY))
        life, when = self._live(left, at)
        for number, found in enumerate(left.disk.states(AGAIN, rng.getrandbits(32))):
            with _told(f"{when} of the next process the power went and state {number} was found"):
                self._find(left.after_power_loss(life, found), None)

    # ---- what must be so

    def look(self, disk: Disk) -> None:
        """What a reader may see at any moment while the machine lives: nothing that is wrong or incomplete."""
        manifest = disk.read(MANIFEST) if disk.stat(MANIFEST) else b""
        is_right = self.wanted.manifest(self.wanted.end).startswith(manifest)
        demand(is_right, f"the manifest grows by the right rows, not to {manifest!r}")
        self._compare_files(disk, self.wanted.end, may_lack=True)

    def _check_opened(self, left: Left, end: int) -> None:
        """All that was to be kept is there, and nothing that was not committed. One exception: where outcomes are not
        safe before a sink changes, nobody knows after a loss of power which files had been published."""
        _demand_kept(left.kept, end)
        self._compare(left.disk, end)
        if not left.has_lost_power or self.story.journal.fsync in ("always", "batch"):
            self._compare_files(left.disk, end)

    def _compare(self, disk: Disk, end: int) -> None:
        wanted, manifest = self.wanted.manifest(end), disk.read(MANIFEST)
        demand(manifest == wanted, f"the manifest at seq {end} is {wanted!r}, not {manifest!r}")

    def _compare_files(self, disk: Disk, end: int, *, may_lack: bool = False) -> None:
        wanted = self.wanted.published(end)
        files = disk.tree(ROOT) if disk.stat(ROOT) else {}
        wrong = [path for path in files | wanted if files.get(path) != wanted.get(path)]
        wrong = [path for path in wrong if path in files or not may_lack]
        demand(not wrong, f"the files at seq {end} are those foretold, but not {', '.join(sorted(wrong))}")


def _demand_kept(kept: int, resumed_at: int) -> None:
    demand(resumed_at >= kept, f"{kept} items were safe, but it went on from seq {resumed_at}")


@contextmanager
def _told(when: str) -> Iterator[None]:
    """Say when a promise was broken."""
    try:
        yield
    except Foul as foul:
        raise Foul(f"{when}: {foul}") from foul
