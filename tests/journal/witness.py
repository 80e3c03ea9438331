"""Who did what, and in which order: a run of a job whose journal and sinks write down every act."""

from collections.abc import Sequence

from inorder.core.commands import CommitRun, WindowOpened
from inorder.core.events import Envelope
from inorder.core.transitions import State
from inorder.journal.records import Checkpoint, Commit, Header, encode_record, get_record_type
from inorder.journal.replay import replay
from inorder.journal.scan import scan
from inorder.journal.writer import FsyncPolicy, JournalOptions, JournalWriter
from inorder.runtime.commit import CommitJournal, CommitLane
from inorder.runtime.identity import PlanDigest, encode_identity
from inorder.sim.clock import VirtualClock
from inorder.sim.disk.disk import Disk
from inorder.sinks.base import Entry, Position
from inorder.sinks.memory import MemorySink

SUCCESS = int(State.TERMINAL_SUCCESS)


class WitnessedFile:
    """The file under a journal."""

    def __init__(self, acts: list[str]) -> None:
        self._acts = acts

    def append(self, data: bytes) -> None:
        start = encode_record(Header("", "", "")) + encode_record(Checkpoint(end=0, durable=0))
        names = [get_record_type(each.record).name.lower() for each in scan(start + data).records[2:]]
        self._acts.append(f"journal: {', '.join(names)}")

    def sync(self) -> None:
        self._acts.append("journal: sync")

    def close(self) -> None:
        """Nobody looks."""


class WitnessedSink(MemorySink):
    """A sink."""

    def __init__(self, name: str, acts: list[str]) -> None:
        super().__init__(name)
        self._acts = acts

    def apply(self, entries: Sequence[Entry]) -> Position:
        self._acts.append(f"{self.name}: seqs {entries[0].seq} to {entries[-1].seq}")
        return super().apply(entries)

    def sync(self) -> None:
        self._acts.append(f"{self.name}: sync")


class Witness:
    """A commit lane with two sinks, and a clock that the test moves."""

    def __init__(self, fsync: FsyncPolicy, **options: int) -> None:
        self.acts: list[str] = []
        self.clock = VirtualClock()
        sinks = [WitnessedSink(name, self.acts) for name in ("rows", "files")]
        start = encode_record(Header("", "", "", ["rows", "files"]))
        start += encode_record(Checkpoint(end=0, durable=0, marks=[(0, 0, 0)] * 2))
        self.writer = JournalWriter(WitnessedFile(self.acts), "a journal", replay(scan(start).records), len(start))
        chosen = JournalOptions(fsync=fsync, **options)
        self.journal = CommitJournal(self.writer, Disk(), "a journal", chosen, self.clock)
        self.lane = CommitLane(self.journal, sinks, PlanDigest(encode_identity))

    def commit(self, start: int, end: int) -> list[str]:
        """Commit a run; what was done for it."""
        before = len(self.acts)
        envelopes = [Envelope(seq, 1, SUCCESS, f"result {seq}") for seq in range(start, end)]
        self.lane.commit(CommitRun(start, envelopes), [f"item {seq}" for seq in range(start, end)])
        return self.acts[before:]

    def newest_commit(self) -> Commit:
        """The latest commit as a replay would know it."""
        newest = self.writer.state.newest_candidate
        return Commit(newest.end, 0, list(newest.marks.values()), newest.digest)


def acts_under(fsync: FsyncPolicy) -> tuple[list[str], list[str]]:
    """What is done for the second of two runs, and for a third that a checkpoint falls due with."""
    witness = Witness(fsync, checkpoint_ms=1000)
    witness.journal.note(WindowOpened(0, 0, 64, None))
    witness.commit(0, 2)
    second = witness.commit(2, 5)
    witness.clock.advance_to(1000)
    return second, witness.commit(5, 6)
