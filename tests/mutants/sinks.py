"""Bugs in the sinks."""

from tests.mutants.mutant import Mutant

_CALLS = "tests/host/test_system_calls.py"
_MANY = f"{_CALLS}::test_many_files_become_durable_in_one_call"
_NAMES = f"{_CALLS}::test_the_name_of_a_new_manifest_becomes_durable_with_its_first_rows"
_SAME_CUT = f"{_CALLS}::test_a_cut_manifest_is_synced_before_it_goes_on"
_OUTPUTS = "tests/sinks/test_outputs.py"
_MANIFEST = "tests/sinks/test_manifest.py"
_SINK_CRASHES = "tests/sinks/test_crashes.py"
_SQLITE = "tests/sinks/test_sqlite_power.py"
_POWER = f"{_SQLITE}::test_what_was_synced_survives_a_power_loss_at_any_moment"
_LIBRARY_POWER = "tests/library/test_power.py::test_readers_find_a_generation_whole_and_what_was_synced_is_there"
_TARGET = "tests/targets/test_target_sink.py"
_DIFFERENCE = "tests/targets/test_difference.py"
_ADDRESS = "tests/host/test_credentials.py"
_FEW = f"{_CALLS}::test_files_are_published_by_a_rename_and_become_durable_with_their_folders"

SINKS_MUTANTS: tuple[Mutant, ...] = (
    # ---- files
    Mutant(
        "many files are synced by doing nothing",
        "sinks/outputs.py",
        "        self._filesystem.sync_all(self._root)\n",
        "",
        _MANY,
    ),
    Mutant(
        "a published file is not synced",
        "sinks/outputs.py",
        "            file.sync()\n",
        "            pass\n",
        _FEW,
    ),
    Mutant(
        "the folder of a published file is not synced",
        "sinks/outputs.py",
        "            self._filesystem.sync_directory(self._full_path(folder))\n",
        "            pass\n",
        _FEW,
    ),
    Mutant(
        "a file that is the right size counts as published",
        "sinks/outputs.py",
        "return PrefixChecksums(file).checksum(size) == checksum",
        "return file.size == size",
        f"{_OUTPUTS}::test_a_file_that_is_not_as_it_was_published_is_not_held",
    ),
    Mutant(
        "files that a dead process had not synced are not synced by the next one",
        "sinks/outputs.py",
        "        self._add_unsynced(outputs.values())\n",
        "",
        f"{_SINK_CRASHES}::test_what_a_dead_process_had_not_synced_is_synced_by_the_next",
    ),
    Mutant(
        "files are removed before others are published",
        "sinks/outputs.py",
        "            for move in moves:\n                self._publish(move)\n"
        "            for path in chain.from_iterable(entry.removals for entry in entries):\n"
        "                self._unpublish(path)\n",
        "            for path in chain.from_iterable(entry.removals for entry in entries):\n"
        "                self._unpublish(path)\n"
        "            for move in moves:\n                self._publish(move)\n",
        f"{_OUTPUTS}::test_a_file_that_was_published_and_is_gone_again_is_not_missed_when_syncing",
    ),
    Mutant(
        "a removal is not synced",
        "sinks/outputs.py",
        "        if self._filesystem.stat(self._full_path(folder)) is not None:\n",
        "        if False:\n",
        f"{_OUTPUTS}::test_what_an_entry_wants_gone_goes_and_is_gone_after_a_loss_of_power",
    ),
    Mutant(
        "some files of a run are published before all are checked",
        "sinks/outputs.py",
        "moves = [move for entry in entries if entry.is_success for move in self._plan_moves(entry)]",
        "moves = (move for entry in entries if entry.is_success for move in self._plan_moves(entry))",
        f"{_OUTPUTS}::test_a_staged_file_that_is_not_as_stated_is_named_and_nothing_of_the_run_is_published",
    ),
    # ---- rows
    Mutant(
        "the name of a manifest is not synced",
        "sinks/manifest.py",
        "            if not self._is_name_durable:\n",
        "            if False:\n",
        _NAMES,
    ),
    Mutant(
        "a cut manifest is not synced",
        "sinks/manifest.py",
        "            self._file.truncate(position.offset)\n        self._sync()\n",
        "            self._file.truncate(position.offset)\n",
        _SAME_CUT,
    ),
    Mutant(
        "a manifest of the right size holds its position",
        "sinks/manifest.py",
        "return self._prefixes.checksum(position.offset) == position.checksum",
        "return True",
        f"{_MANIFEST}::test_a_position_is_not_held_when_a_byte_before_it_differs_or_is_missing",
    ),
    Mutant(
        "a new run begins after a torn row",
        "sinks/manifest.py",
        "            size = _find_complete_size(self._file, self._packed_prefix[0])\n",
        "            size = self._file.size\n",
        f"{_MANIFEST}::test_a_new_run_begins_after_the_last_complete_row_of_the_one_before",
    ),
    # ---- SQLite
    Mutant(
        "a sink ahead by exactly one run does not compare the outcomes",
        "sinks/sqlite.py",
        "if already <= len(entries):",
        "if already < len(entries):",
        f"{_SQLITE}::test_ahead_by_exactly_one_run_it_still_compares_the_outcomes",
    ),
    Mutant(
        "an emptied database counts as synced",
        "sinks/sqlite.py",
        "        self._stored = Position()\n        self._is_synced = False\n",
        "        self._stored = Position()\n        self._is_synced = True\n",
        f"{_POWER}[starts over]",
    ),
    Mutant(
        "written rows count as synced",
        "sinks/sqlite.py",
        "        self._stored = position\n        self._is_synced = False\n",
        "        self._stored = position\n",
        f"{_POWER}[grows]",
    ),
    Mutant(
        "a sync of the database does not wait for the disk",
        "sinks/sqlite.py",
        'self._connection.execute("PRAGMA synchronous=FULL")',
        'self._connection.execute("PRAGMA synchronous=NORMAL")',
        f"{_SQLITE}::test_a_sync_waits_for_the_disk_and_a_commit_does_not",
    ),
    Mutant(
        "every commit to the database waits for the disk",
        "sinks/sqlite.py",
        '            finally:\n                self._connection.execute("PRAGMA synchronous=NORMAL")\n',
        "            finally:\n                pass\n",
        f"{_SQLITE}::test_a_commit_after_a_sync_does_not_wait_for_the_disk",
    ),
    Mutant(
        "the database is copied from its log before the log is synced",
        "sinks/sqlite.py",
        '            finally:\n                self._connection.execute("PRAGMA synchronous=NORMAL")\n',
        '            finally:\n                self._connection.execute("PRAGMA synchronous=OFF")\n',
        f"{_POWER}[grows]",
    ),
    # ---- the index
    Mutant(
        "the vectors of the index are not synced",
        "index/vector_files.py",
        "        self._file.sync()\n",
        "",
        _LIBRARY_POWER,
    ),
    Mutant(
        "the name of a file of vectors is not synced before the database is published",
        "index/vector_files.py",
        "        self._filesystem.sync_directory(folder)\n",
        "",
        _LIBRARY_POWER,
    ),
    Mutant(
        "the size of a file of vectors is not compared",
        "index/vector_files.py",
        'return "" if size == expected else',
        'return "" if size else',
        "tests/index/test_lost_vectors.py::test_a_lost_file_of_vectors_is_found_by_verify_and_said_by_search_and_written_again[unchecked-0]",
    ),
    Mutant(
        "packed rows are not durable before the rows that they replace are gone",
        "sinks/packed_lines.py",
        "            packed.sync()\n",
        "",
        "tests/sinks/test_packed_lines.py::test_no_line_is_lost_whenever_the_power_fails[again]",
    ),
    Mutant(
        "the name of a file with packed rows is not durable",
        "sinks/packed_lines.py",
        "        if self._head is None:\n            self._filesystem",
        "        if False:\n            self._filesystem",
        "tests/sinks/test_packed_lines.py::test_no_line_is_lost_whenever_the_power_fails[first]",
    ),
    Mutant(
        "frames of an interrupted packing are counted",
        "sinks/packed_lines.py",
        "            packed.truncate(place)\n",
        "",
        "tests/sinks/test_packed_lines.py::test_no_line_is_lost_whenever_the_power_fails[first]",
    ),
    Mutant(
        "a cut among packed rows cuts those that are not packed",
        "sinks/packed_lines.py",
        "        if size >= self.packed_prefix[0]:\n            self._file",
        "        if True:\n            self._file",
        "tests/sinks/test_packed_lines.py::test_a_cut_among_packed_lines_unpacks_what_is_before_it[700]",
    ),
    Mutant(
        "a manifest without its packed rows is empty",
        "sinks/packed_lines.py",
        'raise _make_error(f"{path}{SUFFIX}", "missing") from error',
        "raise",
        "tests/sinks/test_packed_lines.py::test_damage_to_the_packed_lines_is_an_error[missing]",
    ),
    # ---- targets of exports
    Mutant(
        "a new export begins at position 0 and empties the target",
        "targets/sink.py",
        "        return Position(0, self._stored.offset, int.from_bytes(os.urandom(4)) or 1)\n",
        "        return Position()\n",
        f"{_TARGET}::test_a_new_run_begins_at_what_the_target_holds",
    ),
    Mutant(
        "positions of another export are held",
        "targets/sink.py",
        "        return position.end == 0 and position.offset >= self._stored.offset\n",
        "        return True\n",
        f"{_TARGET}::test_positions_of_another_run_are_not_held",
    ),
    Mutant(
        "a target that failed is used again",
        "targets/sink.py",
        "        self._position = None\n",
        "",
        f"{_TARGET}::test_after_a_failed_write_the_position_is_unknown",
    ),
    Mutant(
        "documents that the index no longer has stay in the target",
        "targets/difference.py",
        """            yield DocumentChange(held.doc_id, "")
            held""",
        "            held",
        f"{_DIFFERENCE}::test_after_the_difference_the_target_equals_the_index",
    ),
    Mutant(
        "changed documents stay as they are in the target",
        "targets/difference.py",
        "is_same = held.hash == document.hash",
        "is_same = True",
        f"{_DIFFERENCE}::test_after_the_difference_the_target_equals_the_index",
    ),
    Mutant(
        "the password of an address is shown",
        "host/credentials.py",
        "f\"{found['scheme']}{user}{place}{found['path']}",
        "f\"{found['scheme']}{found['host']}{found['path']}",
        f"{_ADDRESS}::test_an_address_is_shown_without_its_credentials",
    ),
    Mutant(
        "the command line is recorded with its passwords",
        "stage/manifest/rows.py",
        "escape_surrogates(redact(argument)) for",
        "escape_surrogates(argument) for",
        "tests/stage/manifest/test_rows.py::test_the_row_of_a_run_has_the_command_line_without_passwords",
    ),
    Mutant(
        "half of a password with a slash is taken for a host and shown",
        "host/credentials.py",
        '    if has_split_password(text[found.start("host") :]):\n        raise',
        "    if False:\n        raise",
        f"{_ADDRESS}::test_a_password_that_ends_at_the_wrong_place_is_refused_and_not_repeated",
    ),
)
