"""`postrender explain`: what render would do, and why."""

# The module of each output format. The formats of `postrender diff` draw the reference graph.
FORMATS = {
    "text": "postrender.explain.as_text",
    "json": "postrender.explain.as_json",
    "mermaid": "postrender.diff.formats.mermaid",
    "dot": "postrender.diff.formats.dot",
}
