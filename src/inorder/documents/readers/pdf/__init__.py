"""Reads PDF: the blocks of each page in reading order, from the text and its layout."""
