"""What happens to kernel IR before anything is proved about it, one pass per file."""
