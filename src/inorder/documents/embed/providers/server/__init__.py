"""Embeddings from a server: the provider, its requests, their scheduling and their limits."""
