"""Finds tables on a page, with rules or without."""
