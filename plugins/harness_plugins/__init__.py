"""Plugins: implementations and consumers of the contracts in `harness`."""
