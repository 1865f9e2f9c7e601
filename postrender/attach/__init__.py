"""The commands `attach`, which the attacher Job runs in the cluster, and `adopt`.

Only this package sends requests to an API server. Only the modules `client` and `connect` use the
HTTP library. Read the function run.attach first: it calls all steps of the command `attach`.
"""
