"""Bugs in the store of a stage."""

from tests.mutants.mutant import Mutant

_SINK = "tests/stage/store/test_sink.py"
_LATE = "tests/stage/store/test_late_sink.py::"
_READER = "tests/stage/store/test_reader.py"
_TRANSFER = "tests/stage/store/test_transfer.py"
_ROWS = "tests/stage/store/test_rows.py"
_RECOVERY = "tests/stage/store/test_recovery.py"

_LOOKUP = "tests/stage/store/test_lookup.py"

STORE_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "worker processes are killed after every stage",
        "stage/store/visits.py",
        "        if name == self._stages[-1][0].name:\n            self.idle.kill()\n",
        "        self.idle.kill()\n",
        "tests/cli/test_visits.py::test_the_worker_processes_of_a_run_end_while_its_last_stage_finishes",
    ),
    Mutant(
        "every item is asked for by a query of its own",
        "stage/store/lookup.py",
        "size = min(before.size * _GROWTH, BLOCK_ROWS_MAX)",
        "size = 1",
        f"{_LOOKUP}::test_ids_in_order_are_read_in_blocks_also_several_sequences_in_turn",
    ),
    Mutant(
        "a plan without order reads whole blocks",
        "stage/store/lookup.py",
        "if before.used * 2 >= len(before.rows):",
        "if True:",
        f"{_LOOKUP}::test_ids_without_order_read_few_rows_in_vain",
    ),
    Mutant(
        "an id after the last row of a block is taken for one that is not there",
        "stage/store/lookup.py",
        "(self.is_last or item_id <= self.last)",
        "True",
        f"{_LOOKUP}::test_what_is_found_does_not_depend_on_the_order_of_the_lookups",
    ),
    Mutant(
        "an id that is not valid Unicode is not found in a block",
        "stage/store/database.py",
        "if item_id.isascii() or isinstance(encode_id(item_id), str):",
        "if True:",
        f"{_LOOKUP}::test_ids_that_are_not_valid_unicode_are_found_among_the_others",
    ),
    Mutant(
        "results that are no longer planned stay",
        "stage/store/database.py",
        "if self._found_count == self._count:",
        "if True:",
        f"{_LOOKUP}::test_a_result_that_is_removed_does_not_hide_one_that_is_no_longer_planned",
    ),
    Mutant(
        "results that are planned are removed with the others",
        "stage/store/database.py",
        " and not self._found[number >> 3] & 1 << (number & 7):",
        ":",
        f"{_LOOKUP}::test_a_result_that_is_removed_does_not_hide_one_that_is_no_longer_planned",
    ),
    Mutant(
        "a row that is found hides that its neighbours were",
        "stage/store/database.py",
        "self._found[place] |= bit",
        "self._found[place] = bit",
        f"{_LOOKUP}::test_an_unchanged_run_reads_the_store_in_blocks_and_finds_what_has_changed",
    ),
    Mutant(
        "a batch that is answered as a whole never grows",
        "engines/answering.py",
        "max(limit, min(limit * _GROWTH, _LIMIT_MAX))",
        "limit",
        "tests/engines/test_answering.py"
        "::test_a_batch_that_is_answered_as_a_whole_reaches_no_worker_and_the_next_one_may_be_longer",
    ),
    Mutant(
        "rows after the position of the journal stay",
        "stage/store/sink.py",
        'self._connection.execute("DELETE FROM items WHERE rowid > ?", (position.offset,))',
        "pass",
        f"{_SINK}::test_rows_after_the_position_of_the_journal_are_removed_and_written_again",
    ),
    Mutant(
        "a position of another run is held",
        "stage/store/sink.py",
        "if position.checksum == stored.checksum:",
        "if True:",
        f"{_SINK}::test_a_store_without_the_beginning_of_a_run_holds_only_its_origin",
    ),
    Mutant(
        "a run that resumes forgets what it has removed",
        "stage/store/sink.py",
        "if position.checksum != self._stored.checksum:",
        "if True:",
        f"{_SINK}::test_a_run_that_resumes_at_its_origin_removes_only_its_own_rows",
    ),
    Mutant(
        "the numbers of rows of a later run are used again",
        "stage/store/sink.py",
        " and position.offset >= stored.offset",
        "",
        f"{_SINK}::test_a_store_with_rows_of_a_later_run_does_not_hold_the_origin_of_an_earlier_one",
    ),
    Mutant(
        "a run that has written nothing is held by a store with rows of a later run",
        "stage/store/late_sink.py",
        "else stored.offset == position.offset",
        "else True",
        f"{_LATE}test_a_position_before_changes_of_another_run_is_not_held",
    ),
    Mutant(
        "a run that has written something loses its position before that",
        "stage/store/late_sink.py",
        "does_hold(stored, written) if stored.checksum == written.checksum else ",
        "",
        f"{_LATE}test_the_position_before_the_first_change_is_held_too",
    ),
    Mutant(
        "a store that was not closed is not opened",
        "stage/store/late_sink.py",
        ' or any(os.path.exists(f"{path}{ending}") for ending in _LOG_ENDINGS)',
        "",
        f"{_LATE}test_one_that_was_not_closed_is_opened",
    ),
    Mutant(
        "a failure that removes a result is lost",
        "stage/store/late_sink.py",
        "entry.is_success or is_removed(entry, self._removes_failed) for",
        "entry.is_success for",
        f"{_LATE}test_a_failure_that_removes_a_result_is_a_change",
    ),
    Mutant(
        "removed items are not found again",
        "stage/stale_items.py",
        "store.list_removed() if is_begun else []",
        "[]",
        f"{_RECOVERY}::test_results_and_removals_that_the_journal_does_not_know_get_their_rows",
    ),
    Mutant(
        "a store that lost its rows does not start over",
        "stage/plan_identity.py",
        "start_over_if_behind=plan.is_stored",
        "start_over_if_behind=False",
        f"{_RECOVERY}::test_with_a_newer_store_than_the_journal_the_run_starts_over",
    ),
    Mutant(
        "ids that are no Unicode are not listed",
        "stage/store/database.py",
        "yield from self._iterate_from(prefix.encode(), prefix)",
        "pass",
        f"{_READER}::test_items_are_found_by_the_beginning_of_any_id",
    ),
    Mutant(
        "content is not compared with its hash",
        "stage/store/database.py",
        "if hashlib.sha256(content).hexdigest() != item.sha256:",
        "if False:",
        f"{_READER}::test_content_of_another_item_is_refused",
    ),
    Mutant(
        "prepared results that are added after a lookup are not found",
        "stage/store/prepared.py",
        "            self._lookups.clear()\n",
        "",
        "tests/stage/store/test_prepared.py::test_a_result_that_is_added_after_a_lookup_is_found",
    ),
    Mutant(
        "dictionaries are not stored",
        "stage/store/rows.py",
        'self._connection.executemany("INSERT INTO dictionaries VALUES (?, ?)", rows)',
        "pass",
        f"{_ROWS}::test_results_get_smaller_once_there_are_enough_for_a_dictionary",
    ),
    Mutant(
        "an origin of a transaction that failed is used",
        "stage/store/sink.py",
        "self._rows = None  # it may know origins that were not committed",
        "pass",
        f"{_ROWS}::test_a_transaction_that_failed_leaves_nothing_behind",
    ),
    Mutant(
        "a store of version 1 loses the numbers of its rows",
        "stage/store/migration.py",
        "SELECT items_1.rowid, item_id, number,",
        "SELECT items_1.rowid + 7, item_id, number,",
        f"{_ROWS}::test_a_store_of_version_1_is_read_as_it_is_and_converted_by_the_next_run",
    ),
    Mutant(
        "a result is adopted whatever dictionary it was compressed with",
        "stage/staged_results.py",
        "if not is_readable(self._data, os.path.basename(self._staging), stored.stored):",
        "if False:",
        "tests/stage/store/test_compression.py::test_a_result_is_adopted_only_if_the_store_has_its_dictionary",
    ),
    Mutant(
        "workers leave the compression of results to the driver",
        "stage/engine.py",
        "        if work.is_stored and spec.has_processes:\n",
        "        if False:\n",
        "tests/stage/store/test_compression.py::test_nothing_is_left_to_compress_when_results_are_stored",
    ),
    Mutant(
        "a worker looks for a dictionary before every item",
        "stage/store/compression.py",
        "if now_s - self._looked_s >= LOOK_S:",
        "if True:",
        "tests/stage/store/test_compression.py::test_a_dictionary_is_looked_for_from_time_to_time",
    ),
    Mutant(
        "stored results are not sent with their item",
        "stage/file_transfer.py",
        "return msgspec.structs.replace(source, content=read_content(source))\n\n\ndef _measure_addressed",
        "return source\n\n\ndef _measure_addressed",
        f"{_TRANSFER}::test_a_stored_result_travels_as_bytes_and_gives_the_same_result_as_here[sent]",
    ),
    Mutant(
        "prepared results are lost when they become many",
        "stage/store/prepared.py",
        "found, self._kept = self._kept | found, {}",
        "self._kept = {}",
        "tests/stage/store/test_prepared.py::test_many_results_are_kept_in_the_database_with_those_that_were_in_memory",
    ),
    Mutant(
        "a prepared result in memory is used for other inputs",
        "stage/store/prepared.py",
        "return (kept.cfg_hash, kept.input_sha256) == (item.cfg_hash, digest)",
        "return True",
        "tests/stage/store/test_prepared.py::test_results_are_found_in_any_order_and_for_ids_of_every_kind[memory]",
    ),
    Mutant(
        "an item without a row is asked for again after it was read ahead",
        "stage/store/database.py",
        "dict.fromkeys(item_ids) | ",
        "",
        "tests/stage/store/test_lookup.py::test_rows_that_are_read_ahead_are_found_with_one_query_whatever_their_ids",
    ),
)
