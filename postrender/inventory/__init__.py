"""The inventory: the objects of the input, with their references, pod templates and content.

model       the records
examine     one document: its objects, and errors in them
build       the inventory of a whole stream, and which documents must be parsed at all
notes       other releases and ownerReferences (for `explain`), unknown annotations, no objects
"""
