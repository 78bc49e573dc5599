"""What other engines write: calls that mean the same here, and what else is refused with a hint."""
