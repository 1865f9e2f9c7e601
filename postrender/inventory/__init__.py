"""The objects of a stream, their references, and the sites of likely edits."""
