"""The inventory of a stream: its objects, their references, and the sites of likely edits."""
