"""This file begins the package that keeps the gateway's durable state in Redis, for several gateways at once."""
