"""How fast postrender is, and how much memory it takes, beside other ways to do the same work."""
