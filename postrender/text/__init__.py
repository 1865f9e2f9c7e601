"""Helpers for text: names as words, base64 in Secrets, escapes, printed values, common prefixes."""
