"""``python -m rarewords`` is the command ``rarewords``."""

from rarewords.cli.app import main

main()
