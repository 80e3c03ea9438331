"""Which language a file is in, and what it is parsed with."""

import re
import sys
from pathlib import Path

import pytest

from inorder.code import grammars
from inorder.code.grammars import LANGUAGES, READING_VERSION, grammar_version, load_grammar
from inorder.code.languages import language_of
from inorder.code.parse import parse

pytestmark = pytest.mark.req("IDX-1")


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        ("a/b/Makefile", b"", "make"),
        ("Dockerfile.dev", b"", "dockerfile"),
        ("src\\app.TSX", b"", "tsx"),
        ("x.d.ts", b"", "typescript"),
        ("build.gradle.kts", b"", "kotlin"),
        ("lib.h", b"int f(void);\n", "c"),
        ("lib.h", b"#pragma once\nnamespace a {\n", "cpp"),
        ("run", b"#!/usr/bin/env python3.11\n", "python"),
        ("run", b"#!/usr/bin/env -S LANG=C node --harmony\n", "javascript"),
        ("run", b"#! /bin/sh -e\n", "bash"),
        ("run", b"\xef\xbb\xbf#!/usr/local/bin/ruby2.7\n", "ruby"),
        ("run", b"#!/opt/strange\n", None),
        ("notes", b"some text\n", None),
        (".py", b"", None),
        ("a.unknown", b"#!/bin/bash\n", "bash"),
    ],
)
def test_the_name_the_ending_or_the_first_line_tells(path: str, head: bytes, language: str | None) -> None:
    assert language_of(path, head) == language


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_grammar_is_loaded_and_fits_its_query(language: str) -> None:
    assert not isinstance(load_grammar(language), str)


def test_the_version_names_library_grammar_and_query() -> None:
    python, go = grammar_version("python"), grammar_version("go")
    assert "tree-sitter/" in python
    assert "tree-sitter-python/" in python
    assert "python.scm/" in python
    assert python.split()[2:] != go.split()[2:]
    assert grammar_version("haskell") == f"lines/{READING_VERSION}"


def test_a_package_that_is_not_installed_has_a_version_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(grammars._SOURCES, "made-up", grammars._GrammarSource("tree-sitter-made-up", ("c",)))
    assert " tree-sitter-made-up/none " in grammar_version("made-up")


@pytest.mark.req("IDX-4")
def test_a_grammar_that_is_not_installed_costs_the_structure_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    load_grammar.cache_clear()
    try:
        parsed = parse("a.go", b"package a\n\nfunc f() {}\n")
    finally:
        load_grammar.cache_clear()
    assert parsed.language == "go"
    assert parsed.note == "tree_sitter_go is not installed"
    assert [(chunk.kind, chunk.start_line, chunk.end_line) for chunk in parsed.chunks] == [("lines", 1, 3)]


@pytest.mark.req("IDX-4")
def test_a_grammar_that_does_not_fit_the_query_costs_the_structure_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammars, "_read_queries", lambda language: b"(no_such_node) @comment")
    load_grammar.cache_clear()
    try:
        parsed = parse("a.go", b"package a\n")
    finally:
        load_grammar.cache_clear()
    assert parsed.note.startswith("the installed tree-sitter-go does not fit: ")
    assert len(parsed.chunks) == 1


def test_the_guide_names_every_language_that_is_parsed() -> None:
    page = (Path(__file__).parents[2] / "docs/guides/code-search.md").read_text("utf-8")
    [sentence] = re.findall(r"Definitions, imports and calls are known of.*?what has a name", page, re.DOTALL)
    assert sorted(re.findall(r"`(\w+)`", sentence)) == list(LANGUAGES)
