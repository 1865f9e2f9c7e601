"""The parts of the page that --format html prints; its style and script stand beside them."""
