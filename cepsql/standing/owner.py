"""The name of this process among those that share a catalog."""

import os
import socket
import uuid


def process_name() -> str:
    """Return a name that no other process has, and that tells people which one it is.

    >>> process_name() == process_name()
    False
    """
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"
