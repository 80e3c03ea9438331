"""The store of a stage: one SQLite database with the result of every item, in place of files per item."""
