"""Bugs in what tells that a run has nothing to do."""

from tests.mutants.mutant import Mutant

_RECEIPT = "stage/unchanged/receipt.py"
_RECORD = "stage/unchanged/record.py"
_BATCHES = "tests/documents/doctags/test_batches.py::test_"
_SPLICED = "stage/unchanged/spliced_manifest.py"
_REPEATED = "tests/stage/unchanged/test_repeated_rows.py"
_EDITS = "tests/stage/unchanged/test_edits.py"
_FEW = "tests/documents/test_few_changes.py::test_only_what_has_changed_is_done_and_all_is_as_after_a_fresh_run"
_TEST = "tests/stage/unchanged/test_unchanged.py"
_CHANGED = f"{_TEST}::test_every_item_is_checked_if_anything_has_changed"

UNCHANGED_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a batch is known by its place alone",
        "documents/doctags/listing.py",
        "if known is None or (known.start, known.digest) != (start, digest):",
        "if known is None or known.start != start:",
        f"{_BATCHES}no_file_of_a_batch_that_has_not_changed_is_compared",
    ),
    Mutant(
        "items of a batch that are apart are forgotten",
        "documents/doctags/listing.py",
        "self.listing.apart += [first + each - number for each in apart]",
        "pass",
        f"{_BATCHES}files_of_a_batch_whose_items_are_apart_stay_apart",
    ),
    Mutant(
        "a batch has a digest that may be out of date soon",
        "documents/doctags/listing.py",
        "    if batch.is_racy:\n        return _UNKNOWN\n",
        "",
        f"{_BATCHES}a_batch_with_a_racy_file_has_no_digest",
    ),
    Mutant(
        "a document that is gone stays one for the index as long as its file is there",
        "index/stage.py",
        "is_as_before = bool(listed) and not gone and",
        "is_as_before = bool(listed) and",
        "tests/index/test_names.py::test_a_document_that_is_none_any_more_is_noticed_under_its_name",
    ),
    Mutant(
        "new source code is not seen among documents",
        "code/discovery.py",
        '"\\0".join([found.relative, *found.names, "/"])',
        "found.relative",
        "tests/index/test_names.py::test_source_code_that_was_added_is_indexed",
    ),
    Mutant(
        "a receipt is believed without its hash",
        _RECEIPT,
        " if sealed.digest == hash_listing(bytes(sealed.receipt)) else None",
        "",
        "tests/stage/unchanged/test_unchanged.py::test_every_item_is_checked_if_anything_has_changed",
    ),
    Mutant(
        "the results that a stage is made of may be of any run",
        _RECEIPT,
        "receipt is not None and receipt.outputs == identify_store(data, stage)",
        "receipt is not None",
        f"{_CHANGED}[written-forget_the_first_stage-called5-results5]",
    ),
    Mutant(
        "a run that has written results keeps the id of their content",
        _RECORD,
        "_read_offset(outputs) == _read_offset(self._outputs) and ",
        "",
        f"{_CHANGED}[written-change_source-called0-results0]",
    ),
    Mutant(
        "a run that has removed results keeps the id of their content",
        _RECORD,
        " and not store.list_removed()",
        "",
        f"{_CHANGED}[written-remove_source-called1-results1]",
    ),
    Mutant(
        "results of another moment are taken for those of the receipt",
        _RECORD,
        "known if known is not None and known.outputs == self._outputs else None",
        "known",
        f"{_TEST}::test_results_of_another_moment_are_not_those_of_the_receipt",
    ),
    Mutant(
        "another configuration changes nothing",
        _RECORD,
        "self._hash_version(lambda derived: derived.version)",
        '""',
        f"{_CHANGED}[written-change_version-called2-results2]",
    ),
    Mutant(
        "what a stage depends on besides results is not asked for",
        _RECORD,
        "self._is_unchanged = derived.is_same()",
        "self._is_unchanged = True",
        f"{_CHANGED}[written-change_something_else-called3-results3]",
    ),
    Mutant(
        "a run with a failure counts as clean",
        _RECORD,
        "return entry.outcome == _SUCCESS",
        "return True",
        f"{_TEST}::test_an_item_that_fails_is_done_again_by_every_run",
    ),
    Mutant(
        "rows are repeated from a manifest that has others",
        _RECORD,
        "return known if known.rows[1:] == (self._start.offset, self._start.checksum) else None",
        "return known",
        f"{_CHANGED}[written-alter_manifest-called6-results6]",
    ),
    Mutant(
        "force is ignored when nothing has changed",
        _RECORD,
        "options.resume and options.fingerprinting and not options.force",
        "options.resume and options.fingerprinting",
        f"{_TEST}::test_an_option_that_is_about_each_item_is_heeded[written-force]",
    ),
    Mutant(
        "after_item is not called when nothing has changed",
        _RECORD,
        "hooks.after_item is not None or ",
        "",
        f"{_TEST}::test_a_hook_is_called_for_every_item",
    ),
    Mutant(
        "a file that is skipped makes every run check every item",
        _RECORD,
        "return derived is not None and derived.skips_again",
        "return False",
        "tests/documents/test_copies.py::test_a_rerun_with_nothing_changed_looks_at_no_file",
    ),
    Mutant(
        "a file that may change without a change of its stat is trusted",
        "documents/doctags/listing.py",
        "if found is not None and found.is_racy:",
        "if found is None and file.source is None and not file.problem:",
        "tests/documents/doctags/test_unchanged.py::test_a_file_that_was_just_written_is_read_again",
    ),
    Mutant(
        "the stat of a file is no part of what a plan is made of",
        "documents/doctags/listing.py",
        "{file.problem}\\n{state}",
        "{file.problem}",
        "tests/documents/doctags/test_unchanged.py::test_whatever_changes_is_noticed[content]",
    ),
    Mutant(
        "warnings of an earlier run are repeated",
        "stage/manifest/rows.py",
        '        "warnings": [],\n    }.items()',
        "    }.items()",
        f"{_TEST}::test_rows_are_made_from_those_of_items_that_succeeded",
    ),
    Mutant(
        "the rest of a row at the end of a block is lost",
        "sinks/manifest.py",
        "text = rest + self._file.read(",
        "text = self._file.read(",
        f"{_TEST}::test_nothing_is_checked_and_every_item_has_the_row_that_it_would_have",
    ),
    Mutant(
        "changes of an earlier run of another stage are taken for all",
        _RECEIPT,
        "current.previous != since or ",
        "",
        f"{_EDITS}::test_changes_of_two_runs_of_the_first_stage_are_not_known",
    ),
    Mutant(
        "results that were removed since are not looked for",
        _RECEIPT,
        "{*store.list_written(current.start), *current.removed}",
        "{*store.list_written(current.start)}",
        f"{_EDITS}::test_only_what_may_have_changed_is_read[written-removed]",
    ),
    Mutant(
        "a run without changes forgets what was removed before it",
        _RECORD,
        "start=known.start, removed=known.removed",
        "start=known.start",
        f"{_EDITS}::test_a_run_of_the_first_stage_without_changes_does_not_hide_those_before_it",
    ),
    Mutant(
        "results of other items are not noticed",
        _RECORD,
        "store.count() != known.kept_count",
        "store.count() < known.kept_count",
        f"{_EDITS}::test_results_of_other_items_are_found",
    ),
    Mutant(
        "another configuration is taken for a few changes",
        _RECORD,
        "known.fixed_version != self._fixed_version or ",
        "",
        f"{_EDITS}::test_every_item_is_read_if_it_is_not_known_what_has_changed[written-version]",
    ),
    Mutant(
        "the row of an item that has changed is repeated, too",
        _SPLICED,
        "if dropped == self._number:",
        "if dropped == self._number and self._dropped.pop() < 0:",
        f"{_EDITS}::test_only_what_may_have_changed_is_read[written-one]",
    ),
    Mutant(
        "rows that a line stands for keep the seqs of their own run",
        "stage/manifest/repeated.py",
        "yield offset, repeat_row(line, seq, keeps_result=found.keeps_results)",
        "yield offset, line",
        f"{_FEW}[named-remove_some]",
    ),
    Mutant(
        "rows in many pieces stay so",
        _SPLICED,
        "and not _is_scattered(receipt)",
        "",
        f"{_REPEATED}::test_rows_in_very_many_pieces_are_written_again_in_one",
    ),
    Mutant(
        "rows that a line stands for are shown as those of the run that made the results",
        "stage/manifest/rows.py",
        "    fields.update(_UNCHANGED_FIELDS)\n",
        "",
        f"{_REPEATED}::test_rows_that_lie_apart_after_changes_are_named_in_order",
    ),
    Mutant(
        "the status of an item leads to the line that stands for its row",
        "stage/manifest/item_status.py",
        "offsets = (line.source, made,",
        "offsets = (line.offset, made,",
        f"{_REPEATED}::test_the_status_of_an_item_leads_to_the_row_itself",
    ),
    Mutant(
        "rows that a line stands for are those of the line before, too",
        _SPLICED,
        "            self._pieces = []\n            yield",
        "            yield",
        f"{_FEW}[named-change_one]",
    ),
    Mutant(
        "the store counts one of the items that are up to date",
        "stage/store/sink.py",
        "position = Position(position.end + count, position.offset",
        "position = Position(position.end + 1, position.offset",
        "tests/stage/store/test_skipped.py::test_they_leave_the_position_that_their_entries_leave",
    ),
    Mutant(
        "rows keep the places of the last run",
        "stage/manifest/rows.py",
        "return line if number == wanted else head + mark + wanted + comma + tail",
        "return line",
        f"{_EDITS}::test_only_what_may_have_changed_is_read[written-added before all]",
    ),
    Mutant(
        "removed items are repeated by the next run",
        "stage/unchanged/receipt.py",
        "return self.count - self.gone_count",
        "return self.count",
        f"{_EDITS}::test_only_what_may_have_changed_is_read[written-removed]",
    ),
    Mutant(
        "what documents contributed before they changed stays in the totals of the corpus",
        "documents/embed/corpus.py",
        "        self._add(self._doc_ids, times=-1)\n",
        "",
        f"{_FEW}[written-change_one]",
    ),
    Mutant(
        "vectors of documents that are gone count in the totals of the corpus",
        "documents/embed/corpus.py",
        "self._add([] if chunks is None else sorted(chunks.get_all(self._doc_ids)), times=1)",
        "self._add(self._doc_ids, times=1)",
        f"{_FEW}[written-remove_some]",
    ),
    Mutant(
        "the corpus is identified before the documents before it are committed",
        "stage/unchanged/changed_items.py",
        "        if not isinstance(each, Barrier):\n            block.append(each)\n            if len(block) < size:\n"
        "                continue\n",
        "        if isinstance(each, Barrier):\n            continue\n        block.append(each)\n"
        "        if len(block) < size:\n            continue\n",
        f"{_EDITS}::test_items_are_looked_up_in_blocks_that_end_at_a_barrier",
    ),
)
