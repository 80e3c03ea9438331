"""Contiguous windows over the plan: its items checked, placed, and sealed into windows."""
