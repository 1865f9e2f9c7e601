"""Standard-library tools that cost little to import: records, patterns, SHA-256.

A render of a small chart takes about 20 ms. `typing`, OpenSSL and patterns that are never used
would take as long again.
"""
