"""The reports of `postrender explain` and `postrender try`: each decision of render, and why."""

# The module of each output format of `postrender explain`. `postrender diff` has the same formats
# mermaid and dot, which draw the reference graph.
FORMATS = {
    "text": "postrender.explain.as_text",
    "json": "postrender.explain.as_json",
    "mermaid": "postrender.diff.formats.mermaid",
    "dot": "postrender.diff.formats.dot",
}
