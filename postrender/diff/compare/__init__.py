"""The steps of a comparison, and their records and helper functions."""
