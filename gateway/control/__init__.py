"""This package is how the operator's commands talk to a gateway, running elsewhere or composed for one command."""
