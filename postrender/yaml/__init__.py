"""YAML: reading documents, and editing their text without changing anything else.

An edit is data (`edits`). The site of an edit is the part of the text that the edit replaces
(`sites`). `splice` makes the replacement. If an edit has no site, postrender writes the whole
object again (`rewrite`, `emit`).
"""
