"""The cluster half: what the appended Job runs, and `postrender adopt`.

Only this package touches a cluster, and only `client` and `connect` know the library that does:
read `run` first, it is the whole way in one page.
"""
