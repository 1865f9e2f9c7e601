"""YAML: reading documents, and editing their text without a change of other bytes.

An edit is a record (module `edits`). The site of an edit is the part of the text that the edit
replaces. The module `sites` finds the site, and the module `splice` replaces this part of the text.
If `splice` cannot apply all edits of an object, the modules `rewrite` and `emit` write the whole
object again.
"""
