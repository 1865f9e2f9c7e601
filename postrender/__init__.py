"""Names with a content hash for ConfigMaps, and updated references to the ConfigMaps."""

__version__ = "0.1.0"
