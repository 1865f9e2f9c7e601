"""Phrases, grouping, truncation and drawing, shared by the formats of `postrender diff`."""
