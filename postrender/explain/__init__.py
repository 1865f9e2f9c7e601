"""The reports of `postrender explain` and `postrender try`."""

# The module of each output format of `postrender explain`. Each module has the function
# `render(explanation, terminal) -> str`.
FORMATS = {
    "text": "postrender.explain.text",
    "json": "postrender.explain.json",
    "mermaid": "postrender.diff.formats.mermaid",
    "dot": "postrender.diff.formats.dot",
}
