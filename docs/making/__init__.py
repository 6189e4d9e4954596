"""What `make docs` runs: the reference made from the code, the site made from the pages, the link check."""
