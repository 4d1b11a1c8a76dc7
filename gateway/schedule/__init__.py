"""Pure rules of time: recurrence, jobs, the heartbeat checklist."""
