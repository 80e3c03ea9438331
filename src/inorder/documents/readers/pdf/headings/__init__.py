"""Finds the headings of a document and their levels."""
