"""Scanned pages: text recognised from pictures."""
