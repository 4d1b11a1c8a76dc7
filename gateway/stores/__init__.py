"""Durable state: inbox, outbox, committed turns, the ledger of reasons."""
