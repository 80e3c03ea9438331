"""Observes a run: counts, durations, progress, telemetry. Nothing in it decides anything."""
