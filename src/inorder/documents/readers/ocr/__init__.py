"""Recognizes the text of scanned pages."""
