"""The specification pages quote tables of the code; here each is made again from the code and compared.

When one fails, paste what it prints between the markers of the page, and read the rest of the page again: a changed
table usually means a changed rule.
"""

from collections.abc import Callable
from typing import get_args

import pytest

from inorder.core.events import Event
from tests.specs import declared, exits, journal, lanes, observed, stage
from tests.specs.declared import option_names, option_table
from tests.specs.pages import BadMarkers, complaint, marked_tables, page_names, read_page, table

pytestmark = pytest.mark.req("SPC-1")

TABLES: dict[tuple[str, str], Callable[[], str]] = {
    ("ledger.md", "states"): declared.states,
    ("ledger.md", "transitions"): declared.transitions,
    ("ledger.md", "pairs"): declared.pairs,
    ("ledger.md", "ledger-options"): lambda: option_table(
        "lease_ms", "windows.span_max", "commit_run_max", "announces"
    ),
    ("windows.md", "windows"): lambda: declared.user_limits("Windows"),
    ("windows.md", "window-record"): declared.window_record,
    ("windows.md", "window-sizing"): declared.sizing,
    ("windows.md", "window-options"): lambda: option_table(
        "windows.", "schedule", "aged_ms", "batch_max", "expected_bytes"
    ),
    ("backpressure.md", "budgets"): lambda: declared.user_limits("Budgets"),
    ("backpressure.md", "pressure-signals"): declared.signals,
    ("backpressure.md", "pressure-levels"): observed.levels,
    ("backpressure.md", "pressure-options"): lambda: option_table("pressure."),
    ("retry-and-outcomes.md", "error-categories"): declared.categories,
    ("retry-and-outcomes.md", "error-rules"): declared.error_rules,
    ("retry-and-outcomes.md", "transient-errnos"): declared.transient_errnos,
    ("retry-and-outcomes.md", "retry-backoff"): declared.backoff,
    ("retry-and-outcomes.md", "losses"): observed.losses,
    ("retry-and-outcomes.md", "retry-options"): lambda: option_table(
        "retry.", "outage_ms_max", "infrastructure_budget", "lease_ms"
    ),
    ("cancellation.md", "stop-kinds"): observed.stop_kinds,
    ("cancellation.md", "stop-effects"): observed.stop_effects,
    ("cancellation.md", "stop-options"): lambda: option_table(
        "cancel_grace_ms", "error_budget", "on_budget", "infrastructure_budget"
    ),
    ("lanes.md", "lane-outcomes"): lanes.outcome_rules,
    ("lanes.md", "lane-reasons"): lanes.reasons,
    ("lanes.md", "lane-redirects"): lanes.redirect_rules,
    ("lanes.md", "lane-states"): lanes.states,
    ("lanes.md", "lane-statistics"): lanes.statistics,
    ("lanes.md", "lane-options"): lanes.options,
    ("exit-codes.md", "exit-codes"): exits.codes,
    ("exit-codes.md", "exit-outcomes"): exits.outcomes,
    ("exit-codes.md", "exit-errors"): exits.raised,
    ("journal-and-replay.md", "journal-records"): journal.records,
    ("journal-and-replay.md", "journal-policies"): journal.policies,
    ("journal-and-replay.md", "journal-verdicts"): journal.verdicts,
    ("journal-and-replay.md", "journal-restored"): journal.resume_point,
    ("journal-and-replay.md", "journal-errors"): journal.errors,
    ("journal-and-replay.md", "journal-options"): journal.options,
    ("stage-runner.md", "stage-item"): stage.item,
    ("stage-runner.md", "stage-freshness"): stage.freshness_reasons,
    ("stage-runner.md", "stage-outputs"): stage.output_paths,
    ("stage-runner.md", "stage-layout"): stage.data_layout,
    ("stage-runner.md", "stage-row"): stage.row,
    ("stage-runner.md", "stage-outcome"): stage.outcome,
    ("stage-runner.md", "stage-options"): stage.options,
    ("observability.md", "progress-lines"): stage.progress_lines,
    ("observability.md", "telemetry-events"): stage.events,
    ("observability.md", "telemetry-metrics"): stage.metrics,
    ("observability.md", "attempt-statuses"): stage.attempt_statuses,
    ("observability.md", "otel-instruments"): stage.instruments,
    ("observability.md", "prometheus-metrics"): stage.prometheus_metrics,
    ("observability.md", "prometheus-files"): stage.prometheus_files,
    ("observability.md", "prometheus-lanes"): stage.prometheus_lanes,
    ("observability.md", "prometheus-watch"): stage.prometheus_watch,
    ("observability.md", "prometheus-server"): stage.prometheus_server,
}

PROVES = {
    "states": "LED-1",
    "transitions": "LED-2",
    "pairs": "LED-2",
    "error-rules": "RTY-5",
    "transient-errnos": "RTY-5",
    "lane-outcomes": "LAN-4",
    "lane-redirects": "LAN-4",
    "exit-codes": "CLI-3",
    "exit-outcomes": "CLI-3",
    "exit-errors": "CLI-3",
    "journal-records": "JRN-1",
    "journal-policies": "JRN-2",
    "journal-verdicts": "JRN-5",
    "stage-freshness": "RUN-4",
    "stage-row": "RUN-7",
    "progress-lines": "RUN-9",
    "telemetry-events": "RUN-10",
    "telemetry-metrics": "RUN-10",
    "prometheus-metrics": "VIS-3",
    "prometheus-files": "VIS-3",
    "prometheus-lanes": "LAN-9",
    "prometheus-watch": "VIS-3",
    "prometheus-server": "VIS-3",
}


def quoted_tables() -> list[object]:
    return [
        pytest.param(page, name, id=f"{page}-{name}", marks=[pytest.mark.req(PROVES[name])] if name in PROVES else [])
        for page, name in TABLES
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "name"), quoted_tables())
def test_a_page_quotes_what_the_code_says(page: str, name: str) -> None:
    trouble = complaint(page, name, TABLES[page, name](), marked_tables(read_page(page)).get(name))
    if trouble:
        pytest.fail(trouble, pytrace=False)


def test_every_marked_table_of_every_page_is_compared() -> None:
    marked = {(page, name) for page in page_names() for name in marked_tables(read_page(page))}
    assert marked == TABLES.keys()


def test_every_option_of_the_kernel_is_on_some_page() -> None:
    pages = "\n".join(read_page(page) for page in page_names())
    assert {name for name in option_names() if f"| `{name}` |" not in pages} == set()


@pytest.mark.slow
def test_every_option_says_its_reason() -> None:
    assert [name for name, field in declared.options().items() if not field.meaning] == []
    assert declared.options().keys() == option_names()


def test_every_option_and_every_word_of_a_lane_says_what_it_means() -> None:
    for quoted in (lanes.options(), lanes.statistics(), lanes.reasons(), lanes.states()):
        assert "|  |" not in quoted


@pytest.mark.slow
def test_every_field_of_a_stage_says_what_it_means() -> None:
    for quoted in (stage.item(), stage.options(), stage.outcome(), stage.metrics(), stage.events()):
        assert "|  |" not in quoted


def test_the_table_of_a_stop_has_a_row_for_every_event() -> None:
    effects = observed.stop_effects()
    assert [event.__name__ for event in get_args(Event) if f"| `{event.__name__}`" not in effects] == []


def test_a_stale_table_is_found_and_the_right_one_is_printed() -> None:
    expected = table(("code", "state"), [(0, "UNSEEN"), (1, "DISPATCHED")])
    stale = expected.replace("1", "2")
    page = f"Before.\n\n<!-- table:states -->\n\n{stale}\n\n<!-- end -->\n\nAfter.\n"
    trouble = complaint("ledger.md", "states", expected, marked_tables(page)["states"])
    assert trouble is not None
    assert expected in trouble
    assert "ledger.md" in trouble


def test_a_missing_table_is_found_and_a_true_one_is_let_through() -> None:
    expected = table(("a",), [("b|c",)])
    page = f"<!-- table:t -->\n{expected}\n<!-- end -->\n"
    assert complaint("p.md", "t", expected, marked_tables(page)["t"]) is None
    assert "is missing" in (complaint("p.md", "t", expected, None) or "")


@pytest.mark.parametrize(
    "page",
    [
        "<!-- table:a -->\n| x |\n",
        "<!-- table:a -->\n| x |\n<!-- table:b -->\n| y |\n<!-- end -->\n",
        "<!-- table:a -->\n<!-- end -->\n<!-- table:a -->\n<!-- end -->\n",
    ],
)
def test_markers_that_do_not_pair_up_are_refused(page: str) -> None:
    with pytest.raises(BadMarkers):
        marked_tables(page)
