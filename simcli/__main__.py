"""`python -m simcli` is `simcli`."""

from simcli.cli import main

main()
