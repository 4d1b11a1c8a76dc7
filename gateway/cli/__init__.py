"""One file a command group; heavy libraries load only in the command that uses them."""
