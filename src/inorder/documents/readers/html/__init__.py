"""Reads HTML."""
