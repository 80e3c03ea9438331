"""Providers in a process of their own, which all worker processes call."""
