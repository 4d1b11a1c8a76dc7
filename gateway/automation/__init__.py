"""Unprompted turns: heartbeats, jobs and subagents."""
