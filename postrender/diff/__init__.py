"""`postrender diff`: the effect of a change, as a preview that a format prints."""

# The sections of a preview for `--only`. This module has the names because the command line needs
# the names before any other module of the package is loaded.
SECTIONS = ("configmaps", "workloads", "revisions", "objects")
