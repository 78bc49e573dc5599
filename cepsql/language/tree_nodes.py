"""The nodes of a tree, walked once: many questions are asked of each small expression, most of them about nothing."""

from typing import TypeVar

from sqlglot import exp

T = TypeVar("T", bound=exp.Expr)


class TreeNodes:
    """The nodes of a tree as it is when this is made."""

    def __init__(self, tree: exp.Expr):
        self._nodes = list(tree.walk())
        self._classes = {kind for node_class in set(map(type, self._nodes)) for kind in node_class.__mro__}

    def of(self, *classes: type[T]) -> list[T]:
        """Return the nodes of these classes, in the order of the tree's `find_all`."""
        if self._classes.isdisjoint(classes):
            return []
        return [node for node in self._nodes if isinstance(node, classes)]
