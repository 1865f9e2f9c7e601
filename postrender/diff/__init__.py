"""`postrender diff`: a preview of the effect of a change."""

# The sections of a preview for `--only`. The names are in a small module, because the command line
# imports the names at its start.
SECTIONS = ("configmaps", "workloads", "revisions", "objects")
