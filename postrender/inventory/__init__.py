"""The inventory: the objects, their references, and the positions of possible edits."""
