"""The code of two commands: `attach`, which the attacher Job runs in the cluster, and `adopt`.

Only this package sends requests to an API server. Only the modules `client` and `connect` use the
HTTP library. Read the module `run` first. Its function `attach` calls all steps of the command
`attach`.
"""
