"""Recognises the text of scanned pages."""
