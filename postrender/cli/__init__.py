"""The command line: one module a command, and what they share.

A module of a command has `COMMAND`, which declares its arguments and options, and `run`, which
takes their values and returns an exit code. The arguments of a plain call are read in arguments.py
in a millisecond; everything else, as help and usage errors, is left to click (click_app.py).
"""
