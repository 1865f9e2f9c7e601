"""YAML documents: reading them, and editing their text without changing any other byte.

stream      the split of the input into documents
document    one parsed document: `plain` reads nearly all of them line by line, and the YAML parser
            (`parser`, `nodes`) reads the others
scalars     the values of unquoted scalars
paths       the paths of values, and patterns that match paths
edits       the records of edits, and their application to parsed data
splice      their application to the text
node_edits  the places of edits that `plain` does not know, and whole objects written again
emit        data as YAML text
"""
