"""Give every ConfigMap content a name of its own, and rewrite what refers to it."""

__version__ = "0.1.0"
