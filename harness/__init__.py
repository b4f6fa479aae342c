"""The agent harness: one package per service contract."""
