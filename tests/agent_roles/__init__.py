"""Parts of the agent that a model plays."""
