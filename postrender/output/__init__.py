"""A plan applied to the text of a stream."""
