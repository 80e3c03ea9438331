"""Readers: one per kind of document. Each has `read(data, name)`, which returns a `documents.model.Document`."""
