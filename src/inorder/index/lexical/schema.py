"""The tables of the inverted index: see `postings`."""

import sqlite3

ANALYSIS_VERSION = 2
"""Of the analysis of texts. To be increased whenever the terms of a text change."""


class DamagedIndexError(sqlite3.DatabaseError):
    """A table of the inverted index has content that was never written."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


SCHEMA = """
CREATE TABLE IF NOT EXISTS segments (
    id INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    chunks BLOB NOT NULL,
    body_lengths BLOB NOT NULL,
    head_lengths BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS term_blocks (
    id INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    first TEXT NOT NULL,
    data BLOB NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS term_blocks_by_first ON term_blocks (segment, first);
CREATE TABLE IF NOT EXISTS dead (chunk INTEGER PRIMARY KEY);
"""
