"""The command line: a module for each command, and the modules that commands share.

The module of a command contains `COMMAND` and `run`. `COMMAND` declares the arguments and options.
`run` takes the values of the arguments and options, and returns the exit code. `run` can raise
UserError and UsageError.
"""
