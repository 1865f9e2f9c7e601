"""The output: a plan applied to the text of a stream."""
