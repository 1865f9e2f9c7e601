"""The steps of a comparison, which postrender.diff.build takes: functions of both sides."""
