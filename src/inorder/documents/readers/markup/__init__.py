"""Reads further markup languages: reStructuredText, AsciiDoc, and XML of publishers."""
