"""The reports of `postrender explain` and `postrender try`."""

from postrender.diff.formats import Reporters

REPORTERS = Reporters(
    {
        "text": "explain.reports:TextReporter",
        "json": "explain.reports:JsonReporter",
        "mermaid": "diff.formats.mermaid:MermaidReporter",
    }
)
