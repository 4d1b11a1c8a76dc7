"""Channels that Strandline brings along, registered like those of strangers (entry points `strandline.channels`)."""
