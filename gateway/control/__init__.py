"""The operator's commands for a gateway, running elsewhere or composed for one command."""
