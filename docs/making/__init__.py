"""The reference from the code, the site from the pages, and the link check: what `make docs` runs."""
