"""The code of two commands: `attach`, which the appended Job runs in the cluster, and `adopt`.

Only this package sends requests to an API server. Only `client` and `connect` use the HTTP library.
Read `run` first: the function `attach` in `run` has all steps of a run.
"""
