"""One seed, one world: whole gateways under a deterministic loop, with crashes and faults (docs/reliability.md)."""
