"""Bugs in what tells that a run has nothing to do."""

from tests.mutants.mutant import Mutant

_RECEIPT = "stage/unchanged/receipt.py"
_TEST = "tests/stage/unchanged/test_unchanged.py"
_CHANGED = f"{_TEST}::test_every_item_is_checked_if_anything_has_changed"

UNCHANGED_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the results that a stage is made of may be of any run",
        _RECEIPT,
        "receipt is not None and receipt.outputs == identify_store(data, stage)",
        "receipt is not None",
        f"{_CHANGED}[forget_the_first_stage-called5-results5]",
    ),
    Mutant(
        "a run that has written results keeps the id of their content",
        _RECEIPT,
        'outputs.split(" ")[1:2] == self._outputs.split(" ")[1:2] and ',
        "",
        f"{_CHANGED}[change_source-called0-results0]",
    ),
    Mutant(
        "a run that has removed results keeps the id of their content",
        _RECEIPT,
        " and not store.list_removed()",
        "",
        f"{_CHANGED}[remove_source-called1-results1]",
    ),
    Mutant(
        "results of another moment are taken for those of the receipt",
        _RECEIPT,
        "known if known is not None and known.outputs == self._outputs else None",
        "known",
        f"{_TEST}::test_results_of_another_moment_are_not_those_of_the_receipt",
    ),
    Mutant(
        "another configuration changes nothing",
        _RECEIPT,
        'return "" if derived is None else hash_strings(derived.version, hash_config(plan, options))',
        'return "" if derived is None else hash_strings(hash_config(plan, options))',
        f"{_CHANGED}[change_version-called2-results2]",
    ),
    Mutant(
        "what a stage depends on besides results is not asked for",
        _RECEIPT,
        "return known if derived.is_same() else None",
        "return known",
        f"{_CHANGED}[change_something_else-called3-results3]",
    ),
    Mutant(
        "a run with a failure counts as clean",
        _RECEIPT,
        "if entry.outcome != _SKIP or entry.payload.reason != UNCHANGED:",
        "if entry.outcome == _SKIP and entry.payload.reason != UNCHANGED:",
        f"{_TEST}::test_an_item_that_fails_is_done_again_by_every_run",
    ),
    Mutant(
        "rows are repeated from a manifest that has others",
        _RECEIPT,
        "(self._version, self._inputs, (self._start.offset, self._start.checksum))",
        "(self._version, self._inputs, known.rows[1:])",
        f"{_CHANGED}[alter_manifest-called6-results6]",
    ),
    Mutant(
        "force is ignored when nothing has changed",
        _RECEIPT,
        "options.resume and options.fingerprinting and not options.force",
        "options.resume and options.fingerprinting",
        f"{_TEST}::test_an_option_that_is_about_each_item_is_heeded[force]",
    ),
    Mutant(
        "after_item is not called when nothing has changed",
        _RECEIPT,
        "hooks.after_item is not None or ",
        "",
        f"{_TEST}::test_a_hook_is_called_for_every_item",
    ),
    Mutant(
        "a file that may change without a change of its stat is trusted",
        "documents/doctags/stage.py",
        "new_run_id() if is_racy else parts.value()",
        "parts.value()",
        "tests/documents/doctags/test_unchanged.py::test_a_file_that_was_just_written_is_read_again",
    ),
    Mutant(
        "the stat of a file is no part of what a plan is made of",
        "documents/doctags/stage.py",
        "{None if found is None else found.signature}",
        "",
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
        "lines = (rest + self._file.read(",
        "lines = (self._file.read(",
        f"{_TEST}::test_nothing_is_checked_and_every_item_has_the_row_that_it_would_have",
    ),
)
