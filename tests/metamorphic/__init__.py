"""One physics, however it is written: random scenes, and the same scenes written another way."""
