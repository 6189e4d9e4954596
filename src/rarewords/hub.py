"""Names on the hub, checked with one request; the libraries underneath retry for half a minute."""

from __future__ import annotations

from pathlib import Path

from rarewords.errors import InputError


def reachable(name: str) -> str:
    """A hub name that can be loaded; without a connection, the folder of that model in the hub's cache."""
    # Only a hub name needs this import.
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import GatedRepoError, HFValidationError

    cached = None
    try:
        cached = try_to_load_from_cache(name, "config.json")
        found = HfApi().file_exists(name, "config.json")
    except GatedRepoError:
        return name  # loading it says how to get access
    except HFValidationError:
        found = False
    except Exception as error:  # its class depends on the version of huggingface_hub
        if isinstance(cached, str):
            return str(Path(cached).parent)
        raise InputError(
            f"the model {name} is neither a folder nor in the hub's cache, and the hub cannot be reached "
            f"({error}); check the spelling and the connection, or give a folder"
        ) from None
    if not found:
        raise InputError(
            f"the model {name} is neither a folder nor on the hub; check the spelling, or log in if it is "
            "private"
        )
    return name
