"""The command line: a module for each command, and the modules that several commands use.

The module of a command contains `COMMAND` and `run`. `COMMAND` declares the arguments and options,
and `run` gets their values. An option that the user does not set has the default in `COMMAND`,
usually None. `run` writes the result to stdout, and returns the exit code. `run` can raise
UserError and UsageError.
"""
