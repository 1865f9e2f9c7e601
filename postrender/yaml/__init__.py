"""Edits of an object: as data (edits), their places in the text (sites), made there (splice).

Where the text has no plain place for one, the object is written anew (rewrite, emit).
"""
