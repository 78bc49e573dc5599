"""The rules that rewrite a plan before it is run, folded over it in this order."""

from collections.abc import Callable

from cepsql.plan.rules.drop_identities import drop_identities
from cepsql.plan.rules.drop_stars import drop_stars
from cepsql.plan.rules.inline_views import inline_views
from cepsql.plan.rules.mark_chains import mark_chains
from cepsql.plan.rules.split_unions import split_unions
from cepsql.plan.rules.watermark_matches import watermark_matches
from cepsql.plan.tree.nodes import Node

RULES: tuple[Callable[[Node], Node], ...] = (
    inline_views,
    split_unions,
    drop_stars,
    drop_identities,
    mark_chains,
    watermark_matches,
)
