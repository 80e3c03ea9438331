"""Receive ordered commits."""
