"""The search for the configuration file, its validation, and the conversion to Settings."""
