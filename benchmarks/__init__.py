"""Measurements of speed and memory, compared with other programs that do the same work."""
