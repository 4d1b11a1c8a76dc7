"""What must survive a crash: inbox, outbox, committed turns, the ledger of reasons."""
