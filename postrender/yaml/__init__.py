"""Reading YAML documents, and editing the text of these documents.

An edit is a record (module `edits`). The site of an edit is the part of the text that the edit
replaces. For an insertion, this part is empty. The module `sites` finds the site. The module
`splice` replaces this part of the text, and leaves all other bytes unchanged. If `splice` cannot
apply all edits of an object, the modules `rewrite` and `emit` write the whole object again.
"""
