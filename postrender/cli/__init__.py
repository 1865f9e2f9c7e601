"""The command line: a module for each command, and the modules that commands share.

The module of a command has `COMMAND`, which declares arguments and options, and `run`. `run` takes
the values of the arguments and options, and returns the exit code.
"""
