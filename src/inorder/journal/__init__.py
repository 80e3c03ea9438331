"""Remembers what was decided, so that a run can go on after any crash."""
