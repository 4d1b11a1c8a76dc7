"""This room says when an agent acts by itself: on its schedule, on its heartbeat."""
