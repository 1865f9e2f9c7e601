"""A preview as one HTML page."""
