"""Bugs in remote sources."""

from tests.mutants.mutant import Mutant

_RUNS = "tests/sources/test_runs.py::"
_FETCHING = "tests/sources/test_fetching.py::"
_ADDRESS = "tests/sources/test_address.py::"
_COMMANDS = "tests/sources/test_commands.py::"
_ELSEWHERE = "tests/documents/test_copies_elsewhere.py::"
SOURCES_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a copy of a document of another source is read again",
        "documents/copies.py",
        "if not original and self._find_elsewhere is not None:",
        "if not original and self._find_elsewhere is None:",
        f"{_ELSEWHERE}test_a_few_new_files_are_compared_with_other_sources_too",
    ),
    Mutant(
        "content is lost when its document is removed and a copy is below another source",
        "documents/other_sources.py",
        "        if self._roots.has(original):\n            return True\n",
        "        if self._roots.has(original):\n            return False\n",
        f"{_ELSEWHERE}test_when_the_document_is_gone_its_copy_elsewhere_takes_its_place[apart-removed]",
    ),
    Mutant(
        "a file is a copy of itself",
        "documents/copies.py",
        'if original in ("", file.item_id):',
        "if not original:",
        f"{_ELSEWHERE}test_after_an_interruption_the_new_document_is_not_taken_for_a_copy_of_itself",
    ),
    Mutant(
        "an empty listing is a listing",
        "sources/listing.py",
        "        if not self.count:",
        "        if self.count < 0:",
        f"{_RUNS}test_a_folder_without_objects_is_an_error_and_not_a_deletion",
    ),
    Mutant(
        "a listing that fails half-way has what came before",
        "sources/stores.py",
        "            for info in call(self.list_folder, folder):",
        "            for info in call(lambda at: [] if at.endswith('/b') else self.list_folder(at), folder):",
        f"{_RUNS}test_a_listing_that_fails_half_way_ends_the_run_and_deletes_nothing",
    ),
    Mutant(
        "an object is read in whatever version it has",
        "sources/stores.py",
        "        if not is_same_version(source.fingerprint, found.fingerprint):",
        "        if not found.fingerprint:",
        f"{_RUNS}test_an_object_that_changes_while_it_is_read_fails_and_is_read_by_the_next_run",
    ),
    Mutant(
        "a body that is cut off is the object",
        "sources/fetching.py",
        "    if expected >= 0 and len(found) != expected:",
        "    if expected >= 0 and len(found) > expected:",
        f"{_FETCHING}test_a_body_that_is_too_short_is_read_again",
    ),
    Mutant(
        "only the request that was refused waits",
        "sources/fetching.py",
        "            self._not_before_s = max(self._not_before_s, self._clock() + wait_s)",
        "            self._not_before_s = max(self._not_before_s, self._clock())",
        f"{_FETCHING}test_all_requests_wait_as_long_as_the_store_asks",
    ),
    Mutant(
        "the words of the store are shown",
        "sources/problems.py",
        '    return RemoteProblem("other", address, f"it cannot be read ({detail or type(error).__name__})")',
        '    return RemoteProblem("other", address, f"it cannot be read ({error})")',
        f"{_FETCHING}test_a_problem_is_named_without_the_words_of_the_store",
    ),
    Mutant(
        "a password in an address is written to manifests",
        "sources/address.py",
        '        if at and ":" in user:',
        '        if at and ":" in user and not part:',
        f"{_ADDRESS}test_an_address_with_credentials_is_refused_without_repeating_them",
    ),
    Mutant(
        "a signed URL is written to manifests",
        "sources/address.py",
        "            if _SECRET_PARAMETERS.search(name):",
        "            if _SECRET_PARAMETERS.fullmatch(name) and not name:",
        f"{_ADDRESS}test_an_address_with_credentials_is_refused_without_repeating_them",
    ),
    Mutant(
        "two changes within a second are one",
        "sources/protocols.py",
        "    is_weak = all(name in rules.times for name in found)",
        "    is_weak = False",
        "tests/sources/test_fingerprints.py::test_an_object_with_a_recent_time_alone_is_another_one_in_every_listing",
    ),
    Mutant(
        "an empty part of a key is left out of the id",
        "stage/sources.py",
        '    return "/".join(_SPECIAL_PARTS.get(part) or quote_id(part) for part in key.split("/"))',
        '    return "/".join(quote_id(part) for part in key.split("/") if part)',
        f"{_ADDRESS}test_keys_are_quoted_so_that_ids_are_unique_and_safe_as_paths",
    ),
    Mutant(
        "objects that no reader knows are fetched",
        "documents/convert/kinds.py",
        "    return (kind if kind in READERS else NOT_FETCHED) if extension else ANY",
        "    return (kind if kind in READERS else ANY) if extension else ANY",
        f"{_RUNS}test_a_name_that_no_reader_knows_is_skipped_without_a_request",
    ),
    Mutant(
        "a retry of stored items writes files",
        "cli/commands/pipeline/retry.py",
        "        is_stored=plan.is_stored,",
        "        is_stored=False,",
        f"{_COMMANDS}test_retry_reads_the_object_as_it_is_now",
    ),
)
