"""Phrases, grouping, truncation and drawing for the formats of `postrender diff` and `explain`."""
