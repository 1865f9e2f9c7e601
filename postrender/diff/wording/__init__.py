"""What the formats of `postrender diff` share: phrases, grouping, cutting, the terminal."""
