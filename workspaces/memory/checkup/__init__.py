"""The check-up of notes: faults and quality of their entries, by rule alone."""
