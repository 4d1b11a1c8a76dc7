"""From a platform to the lane of a session."""
