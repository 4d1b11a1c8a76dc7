"""This room decides who may talk and to which agent a message goes."""
