"""Reads what stands on a page beside its content: fields, notes, stamps and links."""
