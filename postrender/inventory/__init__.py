"""The inventory of a stream: its objects, their references, and the text that edits can replace."""
