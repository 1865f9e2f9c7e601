"""Content hashes in the names of ConfigMaps and Secrets, and updated references to the objects."""

__version__ = "0.1.0"
