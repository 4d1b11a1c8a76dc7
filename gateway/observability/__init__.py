"""Metrics, traces, logs and the redaction of secrets."""
