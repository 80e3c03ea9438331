"""Bugs in the document stages."""

from tests.mutants.mutant import Mutant

_FORMATS = "tests/documents/formats/test_formats.py::"
_LIMITS = "tests/documents/test_system_limits.py::"
_RULES = "tests/documents/test_rules.py::"
_EXTRAS = "tests/documents/test_manifest_extras.py::"
_COSTS = "tests/documents/test_costs.py::"
DOCUMENTS_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "an element with most of the text of a page is clutter",
        "documents/readers/html/clutter.py",
        "if self._measure(node) <= self._most and ",
        "if ",
        "tests/documents/readers/html/test_article.py::test_a_script_is_not_text_of_the_page",
    ),
    Mutant(
        "clutter is measured without a limit",
        "documents/readers/html/clutter.py",
        "            if self._budget < 0:\n                return\n",
        "",
        "tests/documents/readers/html/test_article.py::test_nested_elements_with_such_names_take_no_quadratic_time",
    ),
    Mutant(
        "a link into a sibling folder with the same beginning is followed",
        "documents/discovery.py",
        """path.startswith(f"{folder.rstrip('/')}/")""",
        "path.startswith(folder)",
        f"{_RULES}test_a_link_into_a_sibling_folder_with_the_same_beginning_is_not_read",
    ),
    Mutant(
        "folders whose names begin like DATA hold no documents",
        "documents/doctags/stage.py",
        'if not file.path.startswith(f"{self._data}/")',
        "if not file.path.startswith(self._data)",
        f"{_RULES}test_data_below_a_source_is_no_document_and_its_neighbours_are",
    ),
    Mutant(
        "documents of other sources are removed",
        "documents/doctags/stage.py",
        "return self._roots.has(item_id) or not os.path.lexists(input_path)",
        "return True",
        f"{_RULES}test_documents_of_other_sources_stay",
    ),
    Mutant(
        "documents that no longer exist stay if their source is not named",
        "documents/doctags/stage.py",
        "return self._roots.has(item_id) or not os.path.lexists(input_path)",
        "return self._roots.has(item_id)",
        f"{_RULES}test_documents_of_other_sources_stay",
    ),
    Mutant(
        "a document of exactly the largest size fails",
        "documents/doctags/worker.py",
        "if size > BYTES_MAX:",
        "if size >= BYTES_MAX:",
        f"{_RULES}test_the_largest_document_has_exactly_the_limit",
    ),
    Mutant(
        "another content of the tokenizer file redoes nothing",
        "documents/chunk/stage.py",
        'tokenizer = f"hf:{hashlib.sha256(Path(path).read_bytes()).hexdigest()}"',
        'tokenizer = f"hf:{Path(path).name}"',
        f"{_RULES}test_another_content_of_the_tokenizer_file_does_the_chunks_again",
    ),
    Mutant(
        "chunks of the other format stay",
        "documents/chunk/worker.py",
        "        context.remove(path)\n",
        "        pass\n",
        f"{_RULES}test_chunks_of_the_other_format_are_removed",
    ),
    Mutant(
        "the fingerprint of the other format stays",
        "documents/chunk/worker.py",
        'for path in (f"{other}{FINGERPRINT_SUFFIX}", other)',
        "for path in (other,)",
        f"{_RULES}test_chunks_of_the_other_format_are_removed",
    ),
    Mutant(
        "a blank text is a chunk",
        "documents/chunk/units.py",
        "return ((0, len(text), tokens),) if content else ()",
        "return ((0, len(text), tokens),)",
        f"{_RULES}test_no_chunk_is_empty[text]",
    ),
    Mutant(
        "blank lines of code are a chunk",
        "documents/chunk/units.py",
        "            if content := self._text[start:end].strip():\n",
        "            content = self._text[start:end].strip()\n            if end > start:\n",
        f"{_RULES}test_no_chunk_is_empty[code]",
    ),
    Mutant(
        "a chunk of exactly the largest size does not fit",
        "documents/chunk/pack.py",
        "return self.tokens(first, last) <= self._tokens_max",
        "return self.tokens(first, last) < self._tokens_max",
        f"{_RULES}test_the_largest_chunk_has_exactly_the_limit",
    ),
    Mutant(
        "a chunk of exactly a bound is counted above it",
        "documents/chunk/worker.py",
        "chunk.tokens > bound",
        "chunk.tokens >= bound",
        f"{_RULES}test_a_chunk_of_exactly_a_bound_is_counted_below_it",
    ),
    Mutant(
        "a quantile is one value too high",
        "documents/quantiles.py",
        "if seen >= wanted:",
        "if seen > wanted:",
        f"{_RULES}test_a_quantile_is_the_smallest_value_that_suffices",
    ),
    Mutant(
        "terms are in lower case and not folded",
        "documents/embed/lexical.py",
        ".casefold()",
        ".lower()",
        f"{_RULES}test_terms_are_folded_so_that_spellings_of_one_word_are_one_term",
    ),
    Mutant(
        "terms are not normalized",
        "documents/embed/lexical.py",
        'unicodedata.normalize("NFKC", text)',
        'unicodedata.normalize("NFC", text)',
        f"{_RULES}test_terms_are_folded_so_that_spellings_of_one_word_are_one_term",
    ),
    Mutant(
        "a long term is cut one character late",
        "documents/embed/lexical.py",
        "term[:_TERM_CHARACTERS_MAX]",
        "term[: _TERM_CHARACTERS_MAX + 1]",
        f"{_RULES}test_a_long_term_is_cut_at_exactly_64_characters",
    ),
    Mutant(
        "another number of dimensions leaves the old vectors",
        "documents/embed/providers/registry.py",
        'return f"hash/{VERSION}:{_parse_dimensions(detail)}"',
        'return f"hash/{VERSION}"',
        f"{_RULES}test_another_provider_does_the_vectors_again_and_leaves_none_of_the_old",
    ),
    Mutant(
        "vectors of a family that is switched off stay",
        "documents/embed/stage.py",
        "retires=lambda *_: True",
        "retires=lambda *_: False",
        f"{_RULES}test_another_provider_does_the_vectors_again_and_leaves_none_of_the_old",
    ),
    Mutant(
        "there are no totals without lexical vectors",
        "documents/embed/stage.py",
        "        yield Barrier()\n        yield WorkItem(\n",
        "        yield Barrier()\n"
        '        if "lexical" not in self._cfg_hashes:\n'
        "            return\n"
        "        yield WorkItem(\n",
        f"{_EXTRAS}test_the_row_of_the_corpus_has_totals_per_family_also_without_lexical[False]",
    ),
    Mutant(
        "pages of a long PDF are counted twice",
        "documents/doctags/worker.py",
        "    return _write_outputs(item, context, pdf.merge(parts), _read_input(item))\n",
        "    context.measure(pages=len(pdf.merge(parts).pages))\n"
        "    return _write_outputs(item, context, pdf.merge(parts), _read_input(item))\n",
        f"{_EXTRAS}test_pages_are_counted_once_also_for_a_pdf_that_is_read_in_parts",
    ),
    Mutant(
        "a table of exactly 64 MB is split",
        "documents/parquet.py",
        "if table_bytes <= ROW_GROUP_BYTES_MAX:",
        "if table_bytes < ROW_GROUP_BYTES_MAX:",
        f"{_EXTRAS}test_row_groups_have_16_to_64_megabytes",
    ),
    Mutant(
        "costs are in bytes",
        "documents/cost.py",
        "return max(1.0, size / _PAGE_BYTES.get(kind, _TEXT_PAGE_BYTES))",
        "return max(1.0, float(size))",
        f"{_COSTS}test_a_document_costs_its_pages",
    ),
    Mutant(
        "a batch of texts has one too many",
        "documents/embed/batching.py",
        "last, end = start + tokens_max // max(1, longest), start + 1",
        "last, end = start + tokens_max // max(1, longest) + 1, start + 1",
        "tests/documents/embed/test_batching.py::test_batches_hold_texts_of_like_length_within_the_budget",
    ),
    Mutant(
        "a chunk of exactly the least size is joined",
        "documents/chunk/pack.py",
        "return smaller < tokens_min and",
        "return smaller <= tokens_min and",
        "tests/documents/chunk/test_cutting.py::"
        "test_a_section_begins_a_chunk_as_soon_as_the_one_before_is_large_enough",
    ),
    Mutant(
        "a name may leave no room for the ending of a fingerprint",
        "stage/data_layout.py",
        "reserved = 0 if path.endswith(FINGERPRINT_SUFFIX) else len(FINGERPRINT_SUFFIX)",
        "reserved = 0",
        f"{_LIMITS}test_a_name_that_leaves_no_room_for_an_ending_costs_only_its_file",
    ),
    Mutant(
        "a path may be too long for the system",
        "stage/data_layout.py",
        "if size > _PATH_BYTES_MAX - reserved:",
        "if False:",
        f"{_LIMITS}test_a_path_at_the_limit_of_the_system_costs_only_its_file",
    ),
    Mutant(
        "the numbers of a workbook are never dates",
        "documents/readers/office/number_formats.py",
        'if kind == "date" and 0 <= value < _DAYS_MAX:',
        "if False:",
        f"{_FORMATS}test_a_sample_reads_as_it_always_did[xlsx]",
    ),
    Mutant(
        "XML may define entities",
        "documents/readers/markup/xml.py",
        "    parser.EntityDeclHandler = _refuse_entity\n",
        "",
        "tests/documents/formats/test_formats_hostile.py::test_xml_that_defines_entities_is_refused",
    ),
    Mutant(
        "a covered cell of a slide is a cell",
        "documents/readers/office/pptx.py",
        "if self._grid is not None and not self._is_covered:",
        "if self._grid is not None:",
        f"{_FORMATS}test_a_sample_reads_as_it_always_did[pptx]",
    ),
    Mutant(
        "what is repeated for older programs is text too",
        "documents/readers/rtf/reader.py",
        "self._to_skip = self._group.unicode_skip",
        "self._to_skip = 0",
        f"{_FORMATS}test_a_sample_reads_as_it_always_did[rtf]",
    ),
    Mutant(
        "every alternative of a message is read",
        "documents/readers/mail.py",
        "children = (rich or plain or children)[:1]",
        "pass",
        f"{_FORMATS}test_a_sample_reads_as_it_always_did[mail]",
    ),
    Mutant(
        "a comma always separates values",
        "documents/readers/separated_values.py",
        "if width > 1 and score > best_score:",
        "if False:",
        f"{_FORMATS}test_a_sample_reads_as_it_always_did[csv]",
    ),
)
