"""Reads old and rare formats by converting them with docling-rs."""
