"""Manifests: one row per item and run, in seq order."""
