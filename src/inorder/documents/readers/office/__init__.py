"""Reads office formats that are ZIP archives of XML: presentations, spreadsheets, OpenDocument, EPUB."""
