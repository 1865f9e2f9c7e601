"""Replacements for slow parts of the standard library: records, patterns, JSON, SHA-256.

`postrender render` takes about 20 ms for a small chart. Importing `typing` and OpenSSL, and
compiling patterns that this chart does not need, would double this time.
"""
