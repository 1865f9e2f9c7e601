"""`postrender explain`: what render would do, and why."""

# The module of each output format. The graph is drawn by the formats of `postrender diff`.
FORMATS = {
    "text": "postrender.explain.as_text",
    "json": "postrender.explain.as_json",
    "mermaid": "postrender.diff.formats.mermaid",
    "dot": "postrender.diff.formats.dot",
}
