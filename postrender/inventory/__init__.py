"""The inventory: the objects of the input, their references, and the sites of likely edits."""
