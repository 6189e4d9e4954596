"""Files, cache, engine, progress and settings: what every part of the library uses, and users need not."""
