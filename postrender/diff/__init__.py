"""`postrender diff`: the effect of a change, as a preview that a format prints."""

# The sections of a preview for `--only`. They are here because the command line needs the names
# before it loads any other module of the package.
SECTIONS = ("configmaps", "workloads", "revisions", "objects")
