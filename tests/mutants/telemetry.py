"""Bugs in telemetry."""

from tests.mutants.mutant import Mutant

_MEASURES = "tests/stage/monitor/test_measures.py::"
_TELEMETRY = "tests/stage/monitor/test_telemetry.py::"
TELEMETRY_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "measures of one batch key are counted for all",
        "stage/monitor/measures.py",
        "        group = self._get_group(key)\n",
        '        group = self._get_group("")\n',
        f"{_MEASURES}test_numbers_of_a_worker_are_summed_up_in_all_and_per_batch_key[io]",
    ),
    Mutant(
        "an attempt reports only its latest measure",
        "stage/context.py",
        "self.measures[name] = value if isinstance(known, str) else known + value",
        "self.measures[name] = value",
        f"{_MEASURES}test_numbers_of_a_worker_are_summed_up_in_all_and_per_batch_key[io]",
    ),
    Mutant(
        "the size of the inputs is not counted",
        "stage/monitor/measures.py",
        "        self.input_bytes += result.input_bytes\n",
        "",
        f"{_MEASURES}test_throughput_is_given_in_bytes_lines_and_pages_per_second",
    ),
    Mutant(
        "pages per second are lines per second",
        "stage/monitor/monitor.py",
        'pages_per_s=_compute_rate(totals.get("pages", 0), elapsed_s)',
        'pages_per_s=_compute_rate(totals.get("lines", 0), elapsed_s)',
        f"{_MEASURES}test_throughput_is_given_in_bytes_lines_and_pages_per_second",
    ),
    Mutant(
        "names of measures have no limit",
        "stage/monitor/measures.py",
        "elif len(sums) < NAMES_MAX:",
        "else:",
        f"{_MEASURES}test_names_and_groups_have_a_limit",
    ),
    Mutant(
        "a violated invariant is not counted",
        "stage/monitor/monitor.py",
        "            self._violations += 1\n",
        "",
        f"{_TELEMETRY}test_a_violated_invariant_is_told_with_its_snapshot",
    ),
    Mutant(
        "terminal lag is commit lag",
        "stage/monitor/metrics.py",
        '"terminal_lag": _count_terminal_lag(found),',
        '"terminal_lag": found.commit_lag,',
        f"{_TELEMETRY}test_terminal_lag_leaves_out_what_only_waits_for_its_commit",
    ),
    Mutant(
        "telemetry starts the GPU",
        "stage/monitor/gpu.py",
        "if cuda is None or not cuda.is_initialized():",
        "if cuda is None:",
        f"{_MEASURES}test_gpu_memory_is_read_only_where_torch_already_uses_a_gpu",
    ),
    Mutant(
        "the wait in a worker is counted from the first dispatch",
        "stage/monitor/metrics.py",
        "        self._dispatched_ms[seq] = now_ms\n",
        "        self._dispatched_ms.setdefault(seq, now_ms)\n",
        f"{_TELEMETRY}test_the_time_between_dispatch_and_start_is_that_of_the_final_attempt",
    ),
    Mutant(
        "spans do not have what a worker measured",
        "stage/monitor/otel.py",
        "                    **measures,\n",
        "",
        "tests/stage/monitor/test_otel.py::test_what_a_worker_measures_is_on_the_span_of_its_item_and_in_a_counter",
    ),
)
