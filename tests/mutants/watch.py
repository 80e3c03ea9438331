"""Bugs in the watch."""

from tests.mutants.mutant import Mutant

_LOOP = "tests/watch/test_loop.py::test_"
_FEED = "tests/watch/test_feed.py::test_"

WATCH_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a stream of changes postpones a run for ever",
        "watch/changes.py",
        "return min(self._last_ms + self._settle_ms, self._first_ms + self._settle_ms_max)",
        "return self._last_ms + self._settle_ms",
        "tests/watch/test_changes.py::test_a_stream_of_changes_is_due_at_the_upper_bound",
    ),
    Mutant(
        "a run starts at the first change",
        "watch/changes.py",
        "        self._last_ms = now_ms\n",
        "",
        "tests/watch/test_changes.py::test_a_change_is_due_when_no_other_came_for_the_settle_time",
    ),
    Mutant(
        "a run without a source removes its documents",
        "watch/loop.py",
        "if not is_absent and due_ms is not None",
        "if due_ms is not None",
        f"{_LOOP}nothing_is_run_while_a_source_is_missing_and_its_return_is_followed_by_a_run",
    ),
    Mutant(
        "the return of a source is not noticed",
        "watch/loop.py",
        "            if not absences:\n                self._window.add(now_ms, SourceChanges(1))\n",
        "",
        "tests/watch/test_status.py::test_a_missing_source_is_shown_until_it_is_back",
    ),
    Mutant(
        "a failure is retried at once",
        "watch/loop.py",
        "return self._window.due_ms if self._retry_ms is None else self._retry_ms",
        "return self._window.due_ms or self._retry_ms",
        f"{_LOOP}a_change_does_not_shorten_the_wait_before_a_retry",
    ),
    Mutant(
        "a wrong option is retried for ever",
        "watch/loop.py",
        "if isinstance(error, OperatorError) and not isinstance(error, BusyError) and not self._has_run:",
        "if False:",
        f"{_LOOP}an_operator_error_ends_the_watch_before_its_first_complete_run",
    ),
    Mutant(
        "a busy DATA ends the watch",
        "watch/loop.py",
        "and not isinstance(error, BusyError) and not",
        "and not",
        f"{_LOOP}an_operator_error_ends_the_watch_before_its_first_complete_run",
    ),
    Mutant(
        "waits do not begin again after a success",
        "watch/loop.py",
        "self._failures, self._has_run = 0, True",
        "self._has_run = True",
        f"{_LOOP}a_failure_that_may_pass_is_retried_with_growing_waits",
    ),
    Mutant(
        "what runs write triggers a run",
        "watch/source.py",
        "return path not in self._excluded and not",
        "return not",
        "tests/watch/test_source.py::test_events_of_files_that_a_run_reads_count",
    ),
    Mutant(
        "DATA below a source is watched",
        "watch/source.py",
        "walk_folders(self._path, (IGNORE_FILE,), excluded_paths=self._excluded)",
        "walk_folders(self._path, (IGNORE_FILE,))",
        "tests/watch/test_source.py::test_every_folder_that_a_run_enters_is_watched",
    ),
    Mutant(
        "an unmounted source is an empty one",
        "watch/source.py",
        "if self._is_mount and not os.path.ismount(self._path):",
        "if False:",
        "tests/watch/test_source.py::test_an_empty_mount_point_is_a_missing_source",
    ),
    Mutant(
        "a new folder is not watched",
        "watch/feed.py",
        "outdates = outdates or is_folder or name in RULE_FILES",
        "outdates = outdates or name in RULE_FILES",
        f"{_FEED}a_folder_that_comes_outdates_the_watched_ones",
    ),
    Mutant(
        "a limit of the system is ignored",
        "watch/feed.py",
        'if problem := find_inotify_problem(next(iter(folders), "/")):',
        "if problem := '':",
        f"{_FEED}a_limit_that_is_reached_is_announced_and_the_sources_are_listed_instead",
    ),
    Mutant(
        "a failed listing looks like a change",
        "watch/polling.py",
        "return before is not None and bool(listing) and before != listing",
        "return before is not None and before != listing",
        f"{_FEED}a_listing_that_fails_is_no_change_and_is_announced_once",
    ),
    Mutant(
        "a killed watch looks alive",
        "watch/status.py",
        "if found.is_alive and not is_held(self.lock_path):",
        "if False:",
        "tests/watch/test_status.py::test_a_watch_that_was_killed_is_recognised",
    ),
    Mutant(
        "a model whose files have changed is used further",
        "documents/embed/shared/keeping.py",
        "tuple((family, spec, identity(spec)) for",
        "tuple((family, spec, '') for",
        "tests/documents/embed/test_keeping.py::test_a_process_is_replaced_if_its_model_or_its_limits_have_changed",
    ),
    Mutant(
        "a source that vanishes while it is listed has no files",
        "documents/discovery.py",
        "            yield from _discover_folder(roots, path, name)\n            require_root(path)\n",
        "            yield from _discover_folder(roots, path, name)\n",
        "tests/watch/test_vanishing.py::test_a_listing_of_a_folder_that_vanishes_does_not_come_to_its_end",
    ),
)
