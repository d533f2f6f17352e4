"""Parts of the agent that a model may play: the planner, and who lowers and repairs what has no transformation."""
