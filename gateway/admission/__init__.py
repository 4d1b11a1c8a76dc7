"""Who may talk, and to which agent a message goes."""
