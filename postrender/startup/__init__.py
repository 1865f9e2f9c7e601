"""Replacements for slow imports of the standard library: records, patterns, JSON, SHA-256.

A render of a small chart takes about 20 ms. Importing `typing` and OpenSSL, and compiling patterns
that are never used, would double this time.
"""
