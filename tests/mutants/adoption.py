"""Bugs in the adoption of results after a crash."""

from tests.mutants.mutant import Mutant

_STAGE = "tests/stage/run/test_adoption.py"
_SPOOL = "tests/iteration/test_spool.py"

ADOPTION_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "staged results are not adopted",
        "runtime/loop.py",
        "if results.is_adopting:",
        "if False:",
        f"{_STAGE}::test_a_resumed_run_says_how_many_results_it_adopted",
    ),
    Mutant(
        "a result is adopted for whatever item has its seq",
        "runtime/result_log.py",
        "return record if record is not None and record.identity == identity else None",
        "return record",
        f"{_SPOOL}::test_an_item_that_is_another_one_now_is_computed_again",
    ),
    Mutant(
        "a staged file is not read before it is adopted",
        "stage/staged_results.py",
        "return is_safe and is_intact(",
        "return is_safe or is_intact(",
        f"{_STAGE}::test_a_damaged_file_in_staging_is_computed_again[change_one_byte]",
    ),
    Mutant(
        "an input that changed does not matter",
        "stage/staged_results.py",
        "if not is_same and (not digest or hash_file(path) != digest):",
        "if False:",
        f"{_STAGE}::test_an_input_that_changed_since_makes_its_item_run_again",
    ),
    Mutant(
        "a racy stat without a hash is trusted",
        "stage/staged_results.py",
        "present.signature == stat.signature and (bool(get_identity(task.item)) or not stat.is_racy)",
        "present.signature == stat.signature",
        f"{_STAGE}::test_an_input_without_a_hash_is_trusted_only_if_its_stat_proves_it[False]",
    ),
    Mutant(
        "retries of adopted results are forgotten",
        "runtime/adoption.py",
        "granted[seq] = max(count, granted.get(seq, 0))",
        "pass",
        f"{_STAGE}::test_retries_of_an_adopted_result_are_counted_as_without_the_crash",
    ),
    Mutant(
        "segments of committed results stay",
        "runtime/result_log.py",
        "if last_seq >= end or (path == self._path and not is_full):",
        "if True:",
        f"{_STAGE}::test_the_log_of_a_long_run_stays_short",
    ),
    Mutant(
        "a result that is not plain data is kept",
        "runtime/result_log.py",
        "EncodedResult(payload) if is_plain(payload) else None",
        "EncodedResult(payload)",
        f"{_SPOOL}::test_a_result_that_is_not_plain_data_is_computed_again[odd0]",
    ),
    Mutant(
        "a run that does not resume adopts",
        "stage/run.py",
        "opened.resume_point.end if adopts else None",
        "opened.resume_point.end",
        f"{_STAGE}::test_a_run_that_does_not_resume_adopts_nothing[options0]",
    ),
    Mutant(
        "new folders are not made durable",
        "stage/data_layout.py",
        "filesystem.sync_directory(self.data)",
        "pass",
        "tests/stage/run/test_power.py::test_new_folders_are_durable_before_the_first_commit[always]",
    ),
    Mutant(
        "a partial result is not logged",
        "runtime/adoption.py",
        "elif type(event) is HandedOver and not refused:",
        "elif False:",
        "tests/crash/test_remainder.py",
    ),
    Mutant(
        "a partial result of another text is offered",
        "stage/staged_results.py",
        "return not item.skip and _check_inputs(item, decode_partial(partial).inputs) is not None",
        "return True",
        "tests/stage/run/test_partial_results.py::test_what_was_made_from_another_text_is_not_offered",
    ),
    Mutant(
        "a remainder finds results by seq",
        "stage/run.py",
        "by_identity=self._plan.is_remainder\n",
        "by_identity=False\n",
        "tests/stage/run/test_remainder.py::test_results_are_adopted_by_identity_in_a_plan_that_has_changed",
    ),
    Mutant(
        "what was computed is dropped when the error budget is exceeded",
        "stage/run.py",
        "is_ended = outcome.stop_kind is None",
        'is_ended = outcome.stop_kind in (None, "error budget")',
        "tests/stage/run/test_stopping.py",
    ),
)
