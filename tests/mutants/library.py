"""Bugs in the library."""

from tests.mutants.mutant import Mutant

_FURTHER = "tests/index/vectors/test_further_files.py::"
_PUBLISHING = "tests/library/test_publishing.py::"
_DOORS = "tests/library/test_doors.py::"
_FAILURES = "tests/library/test_failures.py::"
_READING = "tests/library/test_reading.py::"
_POWER = "tests/library/test_power.py::"

LIBRARY_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "what is committed is visible",
        "library/writer.py",
        "else next_epoch(self.epoch)",
        "else self.epoch",
        f"{_PUBLISHING}test_what_is_committed_is_not_visible_before_it_is_published",
    ),
    Mutant(
        "held files are published as they come",
        "library/writer.py",
        "epoch = held_epoch(self.epoch) if result.is_held else next_epoch(self.epoch)",
        "epoch = next_epoch(self.epoch)",
        f"{_PUBLISHING}test_held_files_change_together_and_others_as_they_come",
    ),
    Mutant(
        "a result that was never visible stays when it is replaced",
        "library/writer.py",
        "                self._remove_unpublished(visit.item, each)\n",
        "",
        f"{_PUBLISHING}test_a_held_file_that_is_edited_in_the_meantime_is_published_as_it_is_now",
    ),
    Mutant(
        "totals of a held change are not taken back",
        "library/writer.py",
        "                if each.until != FOREVER:\n                    self._add(visit, each.until, each, 1)\n",
        "",
        f"{_PUBLISHING}test_a_held_file_that_is_edited_in_the_meantime_is_published_as_it_is_now",
    ),
    Mutant(
        "chunks of a replaced file are still found",
        "library/writer.py",
        "self.terms.retire(each.id, visit.epoch)",
        "None",
        f"{_PUBLISHING}test_a_changed_file_is_seen_as_it_was_until_its_change_is_published",
    ),
    Mutant(
        "held chunks are found as soon as they are inverted",
        "library/terms.py",
        "                if epoch > visible\n",
        "                if False\n",
        f"{_PUBLISHING}test_held_files_change_together_and_others_as_they_come",
    ),
    Mutant(
        "chunks that are visible now stay hidden",
        "library/generations.py",
        "    writer.terms.reveal(epoch)\n",
        "",
        f"{_PUBLISHING}test_what_was_hidden_is_forgotten_when_it_is_visible",
    ),
    Mutant(
        "terms of an interrupted run are not counted again",
        "library/terms.py",
        "self._has_unknown = last > inverted",
        "self._has_unknown = False",
        f"{_POWER}test_terms_that_were_lost_with_the_process_are_counted_again",
    ),
    Mutant(
        "texts go although the index still has them",
        "library/removal.py",
        "    if used.fetchone() is None:\n",
        "    if True:\n",
        f"{_PUBLISHING}test_chunks_that_are_made_again_without_an_index_leave_the_index_as_it_is",
    ),
    Mutant(
        "vectors of other chunks are searched",
        "library/vectors.py",
        "if made_of != input_ or not count:",
        "if not count:",
        f"{_PUBLISHING}test_vectors_of_other_chunks_are_not_searched",
    ),
    Mutant(
        "another provider is searched before the pass is complete",
        "library/generations.py",
        "if row is not None and row[0] and not is_free:",
        "if False:",
        f"{_PUBLISHING}test_a_change_of_provider_is_searched_as_a_whole",
    ),
    Mutant(
        "old files with vectors go before it is durable that nothing names them",
        "library/sink.py",
        "            self.sync()\n            remove_other_files",
        "            remove_other_files",
        f"{_POWER}test_old_files_with_vectors_are_removed_after_it_is_durable_that_nothing_names_them",
    ),
    Mutant(
        "a failed step keeps what it had made",
        "library/writer.py",
        "self._drop_states(visit, {step, *map(self.find_step, failure.removes)})",
        "self._drop_states(visit, {*map(self.find_step, failure.removes)})",
        f"{_FAILURES}test_the_results_of_the_failed_step_and_of_those_after_it_go_with_the_publication",
    ),
    Mutant(
        "the steps after a failed one keep what they had made",
        "library/writer.py",
        "self._drop_states(visit, {step, *map(self.find_step, failure.removes)})",
        "self._drop_states(visit, {step})",
        f"{_FAILURES}test_the_results_of_the_failed_step_and_of_those_after_it_go_with_the_publication",
    ),
    Mutant(
        "a file loses its results to a server that is down",
        "library/writer.py",
        "if not failure.is_outside:",
        "if True:",
        f"{_FAILURES}test_a_file_keeps_its_results_if_a_server_has_failed",
    ),
    Mutant(
        "a failure stays when the step has succeeded",
        "library/writer.py",
        'self._connection.execute("DELETE FROM failures WHERE id = ?", (key,))',
        "pass",
        f"{_FAILURES}test_a_failure_is_forgotten_when_the_step_succeeds",
    ),
    Mutant(
        "a library holds the position of another run",
        "sinks/sqlite.py",
        "        if self.is_final and position != Position() and position.checksum != self._stored.checksum:\n",
        "        if False:\n",
        f"{_READING}test_an_exchanged_library_does_not_hold_the_position_of_the_other_one",
    ),
    Mutant(
        "the writer goes on with what was rolled back",
        "library/sink.py",
        "            self._writer = None\n            self._is_broken",
        "            self._is_broken",
        f"{_POWER}test_a_transaction_that_fails_leaves_the_writer_as_it_was",
    ),
    Mutant(
        "a damaged result of the library is read",
        "library/codec.py",
        'raise IntegrityError("its bytes are not those that were stored")',
        "return",
        f"{_READING}test_a_damaged_result_is_noticed_when_it_is_read",
    ),
    Mutant(
        "retired rows stay",
        "library/generations.py",
        "        for (id_,) in retired:\n            remove_result(connection, item, id_)\n",
        "",
        f"{_PUBLISHING}test_a_removed_file_owns_nothing",
    ),
    Mutant(
        "rows with the same digest are written again",
        "library/writer.py",
        "        if any(each.output == result.output and self._fits(each.id, result)"
        " for each in visit.find_latest(step)):\n            return\n",
        "",
        f"{_PUBLISHING}test_equal_output_leaves_what_is_there",
    ),
    Mutant(
        "vectors stay with chunks that are gone",
        "library/writer.py",
        "if result.step in (DENSE, SPARSE) and input_ != result.input:",
        "if False:",
        f"{_DOORS}test_vectors_that_stay_the_same_belong_to_the_chunks_that_are_new",
    ),
    Mutant(
        "a long reading goes on in the next generation",
        "library/snapshots.py",
        '_VISIBLE = "since <= :epoch AND until > :epoch"',
        '_VISIBLE = "since <= :epoch * 2 AND until > :epoch"',
        f"{_DOORS}test_a_reader_sees_one_generation_while_a_run_goes_on",
    ),
    Mutant(
        "a target does not notice vectors that come later",
        "targets/index_reader.py",
        'f"{VERSION}\\0{file.digest}{file.vectors}\\0{provider}"',
        'f"{VERSION}\\0{file.digest}\\0{provider}"',
        f"{_DOORS}test_a_target_notices_vectors_that_come_later",
    ),
    Mutant(
        "vectors of another provider are searched",
        "library/vectors.py",
        "if vectors.spec == spec and vectors.count == count:",
        "if vectors.count == count:",
        f"{_FURTHER}test_vectors_of_the_same_width_and_another_provider_are_not_added_either",
    ),
    Mutant(
        "merged files of vectors stay in the database",
        "library/vectors.py",
        "    for file in files:\n        remove_file(connection, file)\n",
        "",
        f"{_FURTHER}test_only_rows_that_are_alive_are_merged",
    ),
    Mutant(
        "dead vectors are never left behind",
        "library/vectors.py",
        "    if dead * _SHARE > rows:\n",
        "    if False:\n",
        f"{_FURTHER}test_all_vectors_are_written_again_when_more_than_a_quarter_are_dead[6-True]",
    ),
    Mutant(
        "files of vectors are merged without one that was altered",
        "library/vectors.py",
        "    if any(file.find_problem() or file.is_altered() for file in files):\n",
        "    if False:\n",
        f"{_FURTHER}test_altered_vectors_are_not_merged_or_copied[0]",
    ),
    Mutant(
        "the terms of an export are those of a later generation",
        "library/snapshots.py",
        "ON item = items.id AND searchable.since <= :epoch AND searchable.until > :epoch ",
        "ON item = items.id AND searchable.since <= :epoch * 2 AND searchable.until > :epoch ",
        "tests/dataset/test_export_during_runs.py::"
        "test_tables_to_which_a_run_adds_meanwhile_have_the_same_documents[file]",
    ),
    Mutant(
        "an index is not looked at to tell the version of DATA",
        "stage/data_layout.py",
        '_EARLIER = ("index.sqlite", "index.draft.sqlite", *',
        '_EARLIER = ("index.draft.sqlite", *',
        "tests/cli/test_earlier_data.py::test_it_is_refused_in_python[index.sqlite]",
    ),
    Mutant(
        "verify ignores the inverted index",
        "library/whole/verify.py",
        "if not is_inverted_index_intact(self._connection, self._count_all_terms()):",
        "if False:",
        "tests/cli/test_verify_library.py::test_damage_in_the_library_is_found_and_what_is_said_mends_it",
    ),
    Mutant(
        "a damaged result stays when it is made again",
        "library/writer.py",
        "return not find_result_damage(self._connection, number, result.step, result.output)",
        "return True",
        "tests/cli/test_verify_library.py::test_damage_in_the_library_is_found_and_what_is_said_mends_it",
    ),
)
