"""Language models behind one port, and the offline responder."""
