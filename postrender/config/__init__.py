"""The configuration: found, validated, and turned into Settings."""
