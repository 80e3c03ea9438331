"""Hand-written bugs in the journal, the commit step and recovery."""

from tests.mutants.mutant import Mutant

_ORDER = "tests/journal/test_recovery_order.py"
_CUT = f"{_ORDER}::test_a_journal_is_cut_after_its_name_is_durable_and_synced_before_it_goes_on"
_TRUST = f"{_ORDER}::test_trust_is_restored_after_the_new_journal_is_durable_and_for_good"

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
        'if record.end > self.terminal_end:\n            raise CorruptRecord(offset, f"seq',
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
        "        positions = [self._apply(sink, entries) for sink in self._sinks]\n",
        "positions = [self._apply(sink, entries) for sink in self._sinks]\n"
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
        "            sink.sync()\n",
        "            pass\n",
        "tests/journal/test_recovery.py",
    ),
    Mutant(
        "what is committed is dispatched again",
        "core/windows/window.py",
        "start = max(window.end, committed_end)\n",
        "start = window.end\n",
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
        "window.retries.restore(granted)\n",
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
    # ---- what is claimed, and in which order
    Mutant(
        "a commit record claims bytes that are not synced",
        "runtime/commit.py",
        "Commit(end, self._writer.durable, marks,",
        "Commit(end, self._writer.offset, marks,",
        f"{_ORDER}::test_no_record_claims_more_bytes_than_a_power_loss_leaves",
    ),
    Mutant(
        "a checkpoint claims bytes that are not synced",
        "journal/writer.py",
        "records = self._build_state_records(self.durable, is_end=is_end)",
        "records = self._build_state_records(self.offset, is_end=is_end)",
        f"{_ORDER}::test_no_record_claims_more_bytes_than_a_power_loss_leaves",
    ),
    Mutant(
        "a failed cut trusts more than was to be kept",
        "runtime/recovery.py",
        "min(_find_claimed_bytes(scanned), candidate.offset)",
        "_find_claimed_bytes(scanned)",
        f"{_ORDER}::test_where_cutting_fails_no_more_is_trusted_than_was_to_be_kept",
    ),
    Mutant(
        "sinks are emptied before the new journal is in place",
        "runtime/recovery.py",
        "    data = encode_record(header) + encode_record(first)\n",
        "    data = encode_record(header) + encode_record(first)\n"
        "    for sink, origin in zip(sinks, origins, strict=True):\n        sink.roll_back(origin, ())\n",
        f"{_ORDER}::test_a_new_journal_is_in_place_before_the_sinks_are_emptied",
    ),
    Mutant(
        "trust is restored before the new journal is written",
        "runtime/recovery.py",
        "        kept = _replay_until(scanned, state, candidate)\n",
        "        if is_distrusted:\n            _remove_mark(filesystem, path)\n"
        "            mark_distrusted(filesystem, path, 0)\n"
        "        kept = _replay_until(scanned, state, candidate)\n",
        _TRUST,
    ),
    Mutant(
        "restored trust is not synced",
        "runtime/recovery.py",
        '        filesystem.unlink(f"{path}{DISTRUST_SUFFIX}")\n'
        '        filesystem.sync_directory(os.path.dirname(path) or ".")\n',
        '        filesystem.unlink(f"{path}{DISTRUST_SUFFIX}")\n',
        _TRUST,
    ),
    Mutant(
        "a distrusted journal is cut instead of written anew",
        "runtime/recovery.py",
        "(_rewrite if is_distrusted else _truncate)",
        "(_truncate)",
        _TRUST,
    ),
    Mutant(
        "the name of a journal is not synced before it is cut",
        "runtime/recovery.py",
        '        filesystem.sync_directory(os.path.dirname(path) or ".")  # the rename',
        "        pass  # the rename",
        _CUT,
    ),
    Mutant(
        "a cut is not synced before the journal goes on",
        "runtime/recovery.py",
        "        file.truncate(offset)\n        file.sync()\n",
        "        file.truncate(offset)\n",
        _CUT,
    ),
    Mutant(
        "an iteration that is left early ends in its journal",
        "./iteration.py",
        "        self._close(is_end=False)\n",
        "        self._close(is_end=True)\n",
        f"{_ORDER}::test_an_iteration_that_is_left_early_has_not_ended_in_its_journal",
    ),
    Mutant(
        "sinks do not follow the final one",
        "runtime/recovery.py",
        "end = max((position.end for position in applied), default=candidate.end)",
        "end = candidate.end",
        "tests/crash/test_remainder.py",
    ),
    Mutant(
        "a final sink is durable before the others",
        "runtime/commit.py",
        "if self._journal.syncs_outcomes and is_final(sink):",
        "if False:",
        "tests/crash/test_remainder.py",
    ),
    Mutant(
        "retries of a later window count in this one",
        "core/resume_point.py",
        "if start <= seq < end}",
        "if start <= seq}",
        "tests/core/resume/test_resume_limits.py",
    ),
    Mutant(
        "retries before an interruption are granted again",
        "journal/replay.py",
        "retries_granted={seq: count for seq, count in self.granted.items() if seq >= start},",
        "retries_granted={},",
        "tests/stage/test_plan_identity.py::test_retries_that_were_spent_before_an_interruption_stay_spent",
    ),
)
