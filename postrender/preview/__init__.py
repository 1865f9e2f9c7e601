"""What a change will do, told before it is applied: `model` is built once, formats print it."""

# What can be asked for on the command line, which must know without loading any of it: formats
# (postrender.preview.formats) and parts of a preview, with the field of the model that each one is.
FORMAT_NAMES = ("text", "markdown", "json", "html", "mermaid", "dot")
SECTIONS = {
    "configmaps": "contents",
    "workloads": "workloads",
    "revisions": "revisions",
    "objects": "objects",
}
