"""The agent: plans, proposes, judges and learns, from a naive kernel to a fast one."""
