"""The check-up of an agent's whole memory: findings, and proposals that only its owner's decision carries out."""
