"""`postrender status`: which pod runs which revision, why each revision exists, and what is wrong.

A Snapshot is what one list of each kind shows, from a cluster or from a file. The decisions about
the next run are those of the package `attach`.
"""

from postrender.diff.formats import Reporters

REPORTERS = Reporters({"text": "status.text:TextReporter", "json": "status.json:JsonReporter"})
