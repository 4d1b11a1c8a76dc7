"""This room carries a message through its turn: lanes, transcripts, the turn, delivery, recovery."""
