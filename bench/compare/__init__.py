"""Comparison with other gateways on this machine: one file each, and one harness."""
