"""The tables of the vectors."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS vector_files (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    count INTEGER NOT NULL,
    dead INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, chunks BLOB NOT NULL);
"""
"""A file has the same id in both. The chunks of its rows are in a table of their own: they are long, and a row of a
table is written as a whole when one of its columns changes."""
