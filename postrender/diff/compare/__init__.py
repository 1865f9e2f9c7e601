"""The steps of a comparison, in the order of postrender.diff.build."""
