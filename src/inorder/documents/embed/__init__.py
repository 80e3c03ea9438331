"""Embed chunks: dense and sparse vectors, and term frequencies."""
