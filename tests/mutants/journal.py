"""Hand-written bugs in the journal, the commit step and recovery."""

from tests.mutants.mutant import Mutant

JOURNAL_MUTANTS: tuple[Mutant, ...] = (
    # ---- reading
    Mutant(
        "a damaged record is believed",
        "journal/frame.py",
        'if magic == MAGIC and data[sum_at : sum_at + 4] == crc32(data[offset:sum_at]).to_bytes(4, "little"):',
        "if magic == MAGIC and sum_at + 4 <= len(data):",
        "tests/journal/test_frame.py",
    ),
    Mutant(
        "damage in what was synced passes for a torn tail",
        "journal/scan.py",
        "if min(claim.durable, synced_max) > offset:",
        "if False:",
        "tests/journal/test_scan.py",
    ),
    Mutant(
        "a torn tail passes for damage",
        "journal/scan.py",
        "if min(claim.durable, synced_max) > offset:",
        "if min(claim.durable, synced_max) >= offset:",
        "tests/journal/test_scan.py",
    ),
    Mutant(
        "a second and different outcome is overlooked",
        "journal/replay.py",
        "if start < end and known.slice(start, end) != record.slice(start, end):",
        "if False:",
        "tests/journal/test_replay.py",
    ),
    Mutant(
        "a commit without outcomes is overlooked",
        "journal/replay.py",
        'if record.end > self._terminal_end:\n            raise CorruptRecord(offset, f"seq',
        'if False:\n            raise CorruptRecord(offset, f"seq',
        "tests/journal/test_replay.py",
    ),
    # ---- writing
    Mutant(
        "a failed sync is tried again",
        "journal/writer.py",
        "self._error = error\n",
        "pass\n",
        "tests/journal/test_writer.py",
    ),
    Mutant(
        "a compaction forgets outcomes that are not committed",
        "journal/writer.py",
        "return [checkpoint, *uncommitted]",
        "return [checkpoint]",
        "tests/journal/test_compaction.py",
    ),
    Mutant(
        "sinks change before the outcomes are written",
        "runtime/commit.py",
        "self._journal.write_outcomes(to_terminal(run.start, entries))\n"
        "        positions = [sink.apply(entries) for sink in self._sinks]\n",
        "positions = [sink.apply(entries) for sink in self._sinks]\n"
        "        self._journal.write_outcomes(to_terminal(run.start, entries))\n",
        "tests/journal/test_durability.py",
    ),
    Mutant(
        "a checkpoint is written before the sinks are synced",
        "runtime/commit.py",
        "self._sync_sinks()\n        self._journal.checkpoint(is_end=is_end)",
        "self._journal.checkpoint(is_end=is_end)\n        self._sync_sinks()",
        "tests/journal/test_durability.py",
    ),
    # ---- going on
    Mutant(
        "the journal is believed where a sink holds less",
        "runtime/recovery.py",
        "if all(sink.holds(",
        "if True or all(sink.holds(",
        "tests/journal/test_recovery.py",
    ),
    Mutant(
        "what a dead process had not synced is called safe",
        "runtime/recovery.py",
        "        sink.sync()\n",
        "        pass\n",
        "tests/journal/test_recovery.py",
    ),
    Mutant(
        "what is committed is dispatched again",
        "core/windows/window.py",
        "if seq >= committed_end:\n",
        "if True:\n",
        "tests/core/resume/test_resume_point.py",
    ),
    Mutant(
        "a resumed window has another size",
        "core/windows/placement.py",
        "if known.start == start:",
        "if False:",
        "tests/core/resume/test_resume_point.py",
    ),
    Mutant(
        "retries are granted again after a crash",
        "core/windows/placement.py",
        "window.retries.restore(state.resume_point.select_retries(start))\n",
        "pass\n",
        "tests/core/resume/test_resume_limits.py",
    ),
    Mutant(
        "the error budget starts over after a crash",
        "core/cursor.py",
        "self._budget.failed = resume_point.failed\n",
        "pass\n",
        "tests/core/resume/test_resume_limits.py",
    ),
)
