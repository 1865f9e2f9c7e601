"""The commands `attach`, which the appended Job runs in the cluster, and `adopt`.

No other package accesses a cluster, and only `client` and `connect` use the HTTP library. Start
with `run`: its function `attach` has all steps of a run.
"""
