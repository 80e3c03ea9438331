"""Embedding providers: they compute the vectors of texts."""
