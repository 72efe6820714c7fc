"""Things that several test files share."""
