"""Pure scheduling rules: recurrence, jobs, the heartbeat checklist."""
