"""An importer of your own: a function from a file to conversations, an entry point of `strandline.importers`."""

from gateway.importers.imported import ImportedConversation, ImportFormatError

__all__ = ["ImportFormatError", "ImportedConversation"]
