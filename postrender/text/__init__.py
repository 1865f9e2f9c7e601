"""Helpers for text: common prefixes, escapes, base64 in Secrets, and names as whole words."""
