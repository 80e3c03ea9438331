"""Finds what is on a page but not part of its text: headers, footers, page numbers, numbers of lines."""
