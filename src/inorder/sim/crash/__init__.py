"""Whole runs that are crashed on a simulated disk, again and again."""
