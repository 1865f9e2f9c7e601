"""The steps of a comparison, which postrender.diff.build calls one after the other."""
