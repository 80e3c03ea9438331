"""Bugs in the command line."""

from tests.mutants.mutant import Mutant

_PREDICTIONS = "tests/cli/test_predictions.py"
_COMMANDS = "tests/cli/test_commands.py"
_MISTAKES = "tests/cli/test_mistakes.py"
_EXCEPTIONS = f"{_COMMANDS}::test_an_exception_is_an_exit_code_and_lines_that_begin_with_our_name"
_EXIT_CODE = f"{_COMMANDS}::test_the_exit_code_says_how_a_stage_ended"
_EDIT = f"{_PREDICTIONS}::test_an_edit_is_followed_through_all_stages"
_CHANGES = f"{_PREDICTIONS}::test_the_changes_that_people_make_are_predicted_item_by_item"
_OPTIONS = f"{_PREDICTIONS}::test_options_are_predicted_item_by_item_also_together_with_a_change"

CLI_MUTANTS: tuple[Mutant, ...] = (
    # ---- how a command ends
    Mutant(
        "a process that does more than one command keeps everything that exists",
        "cli/app.py",
        "        if is_program:\n            keep_loaded()\n    return invoke\n",
        "        keep_loaded()\n    return invoke\n",
        "tests/cli/test_end.py::test_no_cycles_are_searched_for_among_the_modules_of_a_command",
    ),
    Mutant(
        "a violated invariant is an ordinary failure",
        "cli/app.py",
        'return _report(error, Exit.INTEGRITY, "", _BUG)',
        'return _report(error, Exit.FAILED, "", _BUG)',
        _EXCEPTIONS,
    ),
    Mutant(
        "a damaged DATA is an ordinary failure",
        "errors.py",
        'checksum mismatch at offset 96").exit_code\n    6\n    """\n\n    exit_code = 6',
        'checksum mismatch at offset 96").exit_code\n    6\n    """\n\n    exit_code = 1',
        _EXCEPTIONS,
    ),
    Mutant(
        "an error has several lines",
        "cli/output.py",
        'return " ".join(line.strip() for line in message.splitlines())',
        "return message",
        _EXCEPTIONS,
    ),
    Mutant(
        "only one kind of line break is taken out",
        "cli/output.py",
        'return " ".join(line.strip() for line in message.splitlines())',
        'return " ".join(message.split("\\n"))',
        _EXCEPTIONS,
    ),
    Mutant(
        "cancelled without a signal counts as done",
        "cli/exit_codes.py",
        "if outcome.stop_signal else Exit.FAILED",
        "if outcome.stop_signal else Exit.DONE",
        _EXIT_CODE,
    ),
    Mutant(
        "an exceeded budget is told as failed items",
        "cli/exit_codes.py",
        "return Exit.BUDGET_EXCEEDED",
        "return Exit.ITEMS_FAILED",
        _EXIT_CODE,
    ),
    Mutant(
        "the command hears a signal that it was started to ignore",
        "cli/app.py",
        "if signal.getsignal(number) is not signal.SIG_IGN:",
        "if True:",
        f"{_COMMANDS}::test_a_command_that_was_started_to_ignore_a_signal_ignores_it",
    ),
    Mutant(
        "a run hears a signal that it was started to ignore",
        "stage/signals.py",
        "if signal.getsignal(number) is not signal.SIG_IGN]",
        "if True]",
        "tests/stage/test_signals.py::test_a_signal_that_the_process_ignores_stays_ignored",
    ),
    Mutant(
        "a full quota is blamed on the item",
        "stage/engine.py",
        "_DISK_FULL = (ENOSPC, EDQUOT)",
        "_DISK_FULL = (ENOSPC, ENOSPC)",
        "tests/stage/test_signals.py::test_a_full_disk_or_quota_stops_the_run_and_is_no_fault_of_the_item",
    ),
    # ---- hints and lists
    Mutant(
        "the hint of a run is not quoted",
        "cli/stage_runner.py",
        'f" --data {shlex.quote(settings.data)}"',
        'f" --data {settings.data}"',
        f"{_COMMANDS}::test_commands_in_hints_can_be_pasted",
    ),
    Mutant(
        "the hint of a command that reads is not quoted",
        "cli/data_dir.py",
        'f" --data {shlex.quote(data)}"',
        'f" --data {data}"',
        f"{_COMMANDS}::test_commands_in_hints_can_be_pasted",
    ),
    Mutant(
        "failures are in no order",
        "stage/manifest/item_status.py",
        "WHERE status = 'failure' ORDER BY latest",
        "WHERE status = 'failure'",
        "tests/cli/test_item_status.py::test_failures_come_in_the_order_in_which_they_happened_last",
    ),
    Mutant(
        "a config row across two reads is not found",
        "stage/manifest/reader.py",
        "rest, end = data[:first], start",
        'rest, end = b"", start',
        "tests/cli/test_item_status.py::test_a_config_row_is_found_wherever_a_block_ends",
    ),
    Mutant(
        "a retry forgets the settings",
        "cli/stage_loader.py",
        "merged = (recorded if isinstance(recorded, dict) else {}) | dict(settings or {})",
        "merged = dict(settings or {})",
        "tests/cli/test_failures.py::test_a_retry_has_the_settings_of_the_run",
    ),
    # ---- locks and verify
    Mutant(
        "verify lets its lock go",
        "cli/commands/data/verify.py",
        "stack.callback(directory.lock(stage).release)",
        "directory.lock(stage).release()",
        "tests/cli/test_two_runs.py::test_no_run_can_start_while_data_is_verified",
    ),
    Mutant(
        "a lock of another machine counts as free",
        "cli/data_dir.py",
        "not words[1].isdigit():\n        return True",
        "not words[1].isdigit():\n        return False",
        "tests/cli/test_two_runs.py::test_a_lock_of_another_machine_is_believed",
    ),
    Mutant(
        "the lock of a process that is gone is tried",
        "cli/data_dir.py",
        "    except ProcessLookupError:\n        return False",
        "    except ProcessLookupError:\n        return True",
        "tests/cli/test_two_runs.py::test_a_lock_of_a_process_that_is_gone_is_not_even_tried",
    ),
    Mutant(
        "verify ignores the index",
        "cli/commands/data/verify.py",
        "(*find_orphans(directory.root, names), *check_index(directory))",
        "(*find_orphans(directory.root, names),)",
        "tests/cli/test_verify.py::test_the_index_is_verified_too",
    ),
    Mutant(
        "verify ignores the inverted index",
        "index/verify.py",
        "if not is_inverted_index_intact(connection, _count_all_terms(connection)):",
        "if False:",
        "tests/cli/test_verify.py::test_the_index_is_verified_too",
    ),
    # ---- predictions
    Mutant(
        "later stages do not see what earlier ones would write",
        "files/predicted.py",
        "return None if _current is None else _current.get(path)",
        "return None",
        _CHANGES,
    ),
    Mutant(
        "an input that will change is not noticed",
        "cli/dry_run.py",
        "if found.is_satisfied and Change.CHANGED in written.values():",
        "if False:",
        _EDIT,
    ),
    Mutant(
        "an input that is made again is taken for changed",
        "cli/dry_run.py",
        "if found.is_satisfied and Change.CHANGED in written.values():",
        "if found.is_satisfied:",
        _EDIT,
    ),
    Mutant(
        "what the worker knows at once is not predicted",
        "cli/dry_run.py",
        "known = self._rules.outcome(item)",
        "known = None",
        f"{_CHANGES}[make_text]",
    ),
    Mutant(
        "removals are not predicted",
        "cli/dry_run.py",
        "            self._remove(self._list_results(item))\n            yield",
        "            yield",
        f"{_CHANGES}[delete]",
    ),
    Mutant(
        "a failure is not predicted to remove what was made",
        "cli/dry_run.py",
        "self._remove(self._list_results(item) if self._plan.retires is not None else [])",
        "self._remove([])",
        f"{_CHANGES}[make_unreadable]",
    ),
    Mutant(
        "plan ignores the option force",
        "cli/dry_run.py",
        "if self._options.force or not self._options.resume:",
        "if not self._options.resume:",
        f"{_OPTIONS}[--force]",
    ),
    Mutant(
        "results of a file that is no longer a document are predicted to stay",
        "cli/dry_run.py",
        "self._remove(self._rules.removes(item))",
        "self._remove([])",
        "tests/cli/test_predictions.py::test_a_file_that_is_no_longer_a_document_takes_its_results_along",
    ),
    # ---- mistakes
    Mutant(
        "a mistyped DATA is created",
        "cli/builtin.py",
        "    if not sources:\n",
        "    if False:\n",
        f"{_MISTAKES}::test_a_stage_that_reads_data_does_not_create_it",
    ),
    Mutant(
        "a source file that cannot be read is skipped",
        "index/worker.py",
        'return StageError(item.meta["problem"], category="input")',
        'return Skip(item.meta["problem"])',
        f"{_MISTAKES}::test_a_source_file_that_cannot_be_read_fails",
    ),
    Mutant(
        "the address of a server is not looked at before the run",
        "documents/embed/providers/registry.py",
        "    parse_server_address(kind, detail)\n",
        "",
        f"{_MISTAKES}::test_a_provider_that_cannot_be_is_refused_before_anything_runs",
    ),
    Mutant(
        "a process ends before its threads",
        "cli/app.py",
        "if not all(thread.daemon for thread in threads):",
        "if False:",
        "tests/cli/test_end.py::test_a_process_waits_for_threads_that_are_to_end_first",
    ),
    Mutant(
        "a process ends before what is done at exit",
        "cli/app.py",
        "    atexit._run_exitfuncs()\n",
        "",
        "tests/cli/test_end.py::test_a_process_ends_without_releasing_all_objects_after_what_is_done_at_exit",
    ),
)
