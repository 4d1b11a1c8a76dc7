"""Composition: opens resources, wires the parts, starts and stops them."""
