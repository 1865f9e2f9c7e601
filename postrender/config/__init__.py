"""The search for the configuration file, its validation, and its conversion to Settings."""
