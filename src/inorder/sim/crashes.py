"""Crashes whole runs, and sees to it that nothing is lost, repeated, or different afterwards.

A `Trial` tells one story again and again. The process dies, or the power goes, before some durable operation; of all
that the disk may hold then one state is found; the next process goes on from there, and may be ended too. In the end
everything must be as the story foretells, byte for byte:

    for seed in range(10):
        Trial(draw_story(seed)).every_loss_of_power(states=20)

Whatever breaks a promise raises `Foul`, which tells what led to it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from random import Random

from inorder.journal.replay import replay
from inorder.journal.scan import Verdict, scan

from .crash_life import Life
from .crash_story import JOURNAL, MANIFEST, ROOT, Story, foretold, new_disk
from .disk import Disk
from .operations import PowerLoss
from .referee import Foul, demand

LIVES_MAX = 4
"""How often a run is interrupted by `misfortunes` at most."""
STATES_MAX = 12
"""Of so many states after a loss of power `misfortunes` finds one."""
EARLY = 12
"""Operations within which a process is still recovering from what the one before it left."""


class Trial:
    """One story, and everything that can happen to it."""

    def __init__(self, story: Story, *, syncs: bool = True) -> None:
        """`syncs=False`: on a disk that only says that it syncs. There the trial must fail."""
        self.story = story
        self.wanted = foretold(story)
        self.losses = 0
        """Disks found after a loss of power."""
        self.deaths = 0
        """Processes that died on a machine that lived on, and were followed by another."""
        self.healed = 0
        """How many of the disks found were different ones: the same disk is healed once, for that ends the same way."""
        self._known: dict[bytes, int] = {}
        """By the fingerprint of a disk that was healed: where it went on."""
        self._syncs = syncs
        self._is_exact = story.journal.fsync in ("always", "batch")
        """Outcomes are safe before any sink changes: recovery knows of every file that may have been published."""

    def undisturbed(self) -> int:
        """Nothing happens to it. How many durable operations it takes to its end, or until it is cancelled."""
        disk = new_disk(syncs=self._syncs)
        with _told("nothing happened"):
            life, _ = self._live_until(disk, None, is_first=True)
            operations = disk.operations
            self.heal(disk, life.acknowledged)
        return operations

    def every_loss_of_power(self, states: int, *, again: float = 0.0, seed: int = 0) -> None:
        """Before every operation, and after the last; up to so many states of each. In a share `again` of them the
        process that heals the disk loses power too, at some operation of its own."""
        rng = Random(f"{self.story.seed}/{seed}")
        for at in range(self.undisturbed() + 1):
            disk = new_disk(syncs=self._syncs)
            life, when = self._live_until(disk, at, is_first=True)
            for number, found in enumerate(disk.states(states, rng.getrandbits(32))):
                with _told(f"{when}, the power went and state {number} was found"):
                    self._find(found, life.promised, rng.random() < again, rng)

    def every_death(self, *, again: float = 0.0, seed: int = 0) -> None:
        """The process dies before every operation, and after the last, while the machine lives on. In a share `again`
        of them the next process loses power."""
        rng = Random(f"{self.story.seed}/{seed}")
        for at in range(self.undisturbed() + 1):
            disk = new_disk(syncs=self._syncs)
            life, when = self._live_until(disk, at, is_first=True)
            disk.kill()
            self.deaths += 1
            with _told(f"{when}, the process died"):
                self.look(disk)
                twin, operations = disk.copy(), disk.operations
                self.heal(disk, life.acknowledged)
                if rng.random() < again:
                    self._interrupt(twin, disk.operations - operations, life.promised, rng)

    def misfortunes(self, seed: int) -> None:
        """One thing after the other happens to it, until at last nothing does."""
        rng = Random(f"{self.story.seed}/{seed}/misfortunes")
        operations = self.undisturbed()
        disk, promised, told = new_disk(syncs=self._syncs), 0, ["at first"]
        for number in range(rng.randrange(1, LIVES_MAX + 1)):
            at = rng.randrange(EARLY if number and rng.random() < 0.5 else operations + 1)
            with _told(", ".join(told)):
                life, when = self._live_until(disk, at, is_first=number == 0)
            promised = max(promised, life.promised)
            if rng.random() < 0.3:
                disk.kill()
                self.deaths += 1
                told.append(f"{when} the process died")
            else:
                chosen = rng.randrange(STATES_MAX)
                disk = list(islice(disk.states(STATES_MAX, rng.getrandbits(32)), chosen + 1))[-1]
                self.losses += 1
                told.append(f"{when} the power went")
        with _told(", ".join(told)):
            self.heal(disk, promised)

    def look(self, disk: Disk) -> None:
        """What a reader may see at any moment while the machine lives: nothing that is wrong or incomplete."""
        manifest = disk.read(MANIFEST) if disk.facts(MANIFEST) else b""
        is_right = self.wanted.manifest(self.wanted.end).startswith(manifest)
        demand(is_right, f"the manifest grows by the right rows, not to {manifest!r}")
        self._compare_files(disk, self.wanted.end, may_lack=True)

    # ---- one process after the other

    def _live_until(self, disk: Disk, at: int | None, *, is_first: bool = False) -> tuple[Life, str]:
        """Live until just before an operation, or to the end. Only the first process is ever cancelled."""
        first, when = disk.operations, "at the end"

        def listen(number: int, name: str, path: str) -> None:
            nonlocal when
            if number - first == at:
                when = f"before operation {at}, {name} {path},"
                raise PowerLoss

        life = Life(self.story, disk)
        disk.on_operation = listen
        try:
            life.live(may_cancel=is_first, on_opened=lambda end: self._compare(disk, end))
        except PowerLoss:
            pass
        except Foul:
            raise
        except Exception as error:
            raise Foul(f"the run cannot go on: {type(error).__name__}: {error}") from error
        finally:
            disk.on_operation = None
        life.check_books()
        return life, when

    def _find(self, found: Disk, promised: int, is_again: bool, rng: Random) -> None:
        """A disk after a loss of power."""
        self.losses += 1
        fingerprint = found.fingerprint()
        if fingerprint in self._known:
            _demand_kept(promised, self._known[fingerprint])
            return
        self.healed += 1
        twin = found.copy()
        self._known[fingerprint] = self.heal(found, promised)
        if is_again:
            self._interrupt(twin, found.operations, promised, rng)

    def _interrupt(self, disk: Disk, operations: int, promised: int, rng: Random) -> None:
        """Go on, but not to the end; lose power, and go on for good."""
        at = rng.randrange(operations if rng.random() < 0.5 else min(operations, EARLY))
        life, when = self._live_until(disk, at)
        for number, found in enumerate(disk.states(2, rng.getrandbits(32))):
            with _told(f"{when} of the next process the power went and state {number} was found"):
                self._find(found, max(promised, life.promised), False, rng)

    def heal(self, disk: Disk, promised: int) -> int:
        """Go on to the end, and compare everything with what was foretold. The seq it went on from."""
        life, _ = self._live_until(disk, None)
        _demand_kept(promised, life.resumed_at)
        summary = self.wanted.summary
        demand(life.summary == summary, f"the summary is {summary}, not {life.summary}")
        self._compare(disk, self.wanted.end)
        self._compare_files(disk, self.wanted.end)
        found = scan(disk.read(JOURNAL))
        demand(found.verdict is Verdict.CLEAN, f"the journal is clean, not {found.verdict.value}: {found.message}")
        journal = replay(found.found)
        demand(journal.is_end, "the journal says that the run went to its end")
        demand(journal.newest.end == self.wanted.end, f"{self.wanted.end} are committed, not {journal.newest.end}")
        return life.resumed_at

    def _compare(self, disk: Disk, end: int) -> None:
        """Every sink stands at this seq, byte for byte."""
        wanted, manifest = self.wanted.manifest(end), disk.read(MANIFEST)
        demand(manifest == wanted, f"the manifest at seq {end} is {wanted!r}, not {manifest!r}")
        if self._is_exact:
            self._compare_files(disk, end)

    def _compare_files(self, disk: Disk, end: int, *, may_lack: bool = False) -> None:
        wanted = self.wanted.published(end)
        files = disk.tree(ROOT) if disk.facts(ROOT) else {}
        wrong = [path for path in files | wanted if files.get(path) != wanted.get(path)]
        wrong = [path for path in wrong if path in files or not may_lack]
        demand(not wrong, f"the files at seq {end} are those foretold, but not {', '.join(sorted(wrong))}")


def _demand_kept(promised: int, resumed_at: int) -> None:
    demand(resumed_at >= promised, f"{promised} items were safe, but it went on from seq {resumed_at}")


@contextmanager
def _told(when: str) -> Iterator[None]:
    """Say when a promise was broken."""
    try:
        yield
    except Foul as foul:
        raise Foul(f"{when}: {foul}") from foul
