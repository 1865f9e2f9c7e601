"""Names with a content hash for ConfigMaps, and references that follow."""

__version__ = "0.1.0"
