"""The objects of a stream, their references, and where edits would go."""
