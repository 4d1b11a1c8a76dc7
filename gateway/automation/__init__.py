"""Turns that no message asked for: heartbeats, jobs, subagents."""
