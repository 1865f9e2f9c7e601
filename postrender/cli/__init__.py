"""The command line: a module for each command, and the modules that several commands use.

A command is a function with the decorator `command`, which declares the arguments and options. The
function gets their values, writes the result to stdout, and returns the exit code.
"""
