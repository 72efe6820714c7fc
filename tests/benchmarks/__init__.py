"""Other engines on the same mechanisms, for times and numbers beside ours."""
