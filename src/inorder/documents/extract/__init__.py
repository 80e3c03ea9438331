"""Extraction: fields of a JSON Schema from the text of documents, by a model."""
