"""The steps of a comparison, which postrender.preview.compare takes: functions of both sides."""
