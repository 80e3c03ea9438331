"""Bugs in the report."""

from tests.mutants.mutant import Mutant

_FILES = "tests/report/test_files.py::"
_PAGE = "tests/report/test_page.py::"
_TIMELINE = "tests/stage/monitor/test_timeline.py::"
REPORT_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the data of a page can end its script",
        "report/page/render.py",
        "    for character, replacement in _UNSAFE.items():\n",
        "    for character, replacement in ():\n",
        f"{_PAGE}test_hostile_names_stay_text",
    ),
    Mutant(
        "names are not escaped",
        "report/page/text.py",
        "    return html.escape(shown, quote=True)\n",
        "    return shown\n",
        f"{_PAGE}test_hostile_names_stay_text",
    ),
    Mutant(
        "characters that reorder text reach the page",
        "report/page/text.py",
        "    shown = _HIDDEN.sub(_make_visible, text)\n",
        "    shown = text\n",
        f"{_FILES}test_text_that_would_hide_or_reorder_text_is_shown_as_escapes",
    ),
    Mutant(
        "the policy of the page allows every script",
        "report/page/render.py",
        "script-src 'sha256-{_digest(script)}'",
        "script-src 'unsafe-inline'",
        f"{_PAGE}test_the_page_asks_for_nothing_else",
    ),
    Mutant(
        "a run whose process lives and has left its lock is running",
        "host/liveness.py",
        'return any(_is_same(f"{folder}/{name}", wanted) for name in os.listdir(folder))',
        "return True",
        f"{_FILES}test_a_lock_that_a_live_process_has_open_means_that_the_run_goes_on",
    ),
    Mutant(
        "the time between two processes of a run counts",
        "report/telemetry.py",
        "self._base_ms + max(0, time_ms - started_ms)",
        "max(0, time_ms - self.parts[0].started_ms if self.parts else time_ms - started_ms)",
        f"{_FILES}test_a_run_that_others_resumed_is_one_run_without_the_time_between",
    ),
    Mutant(
        "a series keeps the last value of an interval where it needs the highest",
        "report/series.py",
        "[max(pair) if name in _MOST else pair[1] for pair in pairs]",
        "[pair[1] for pair in pairs]",
        f"{_FILES}test_a_series_keeps_its_ends_and_the_highest_values",
    ),
    Mutant(
        "busy time is filled in forwards",
        "report/workers.py",
        "            column -= 1\n",
        "            column -= 2\n",
        f"{_FILES}test_busy_time_is_filled_in_backwards_and_never_twice",
    ),
    Mutant(
        "a sample has every worker",
        "stage/monitor/timeline.py",
        "key=lambda found: -found[1][0])[:WORKERS_MAX]",
        "key=lambda found: -found[1][0])",
        f"{_TIMELINE}test_a_sample_has_a_bounded_size_whatever_happened_since_the_last",
    ),
    Mutant(
        "samples never become rarer",
        "stage/monitor/timeline.py",
        "max(INTERVAL_S_MIN, (now_s - self._started_s) / SAMPLES_PER_RUN)",
        "INTERVAL_S_MIN",
        f"{_TIMELINE}test_samples_become_rarer_with_the_age_of_a_run_and_the_last_one_is_always_written",
    ),
)
