"""The tables that all views of a store share for their changes."""

import sqlalchemy as sa

from cepsql.catalog.view_store import BATCHES, READERS


def batches_table(schema: str | None) -> sa.Table:
    """Return the table with the batches of views whose changes are kept."""
    return sa.Table(
        BATCHES,
        sa.MetaData(),
        sa.Column("view", sa.Text, primary_key=True),
        sa.Column("batch", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("watermark", sa.BigInteger),
        sa.Column("offsets", sa.Text, nullable=False),
        sa.Column("written", sa.Double, nullable=False),
        schema=schema,
    )


def readers_table(schema: str | None) -> sa.Table:
    """Return the table with the readers of the changes of views."""
    return sa.Table(
        READERS,
        sa.MetaData(),
        sa.Column("view", sa.Text, primary_key=True),
        sa.Column("reader", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("batch", sa.BigInteger, nullable=False),
        sa.Column("seen", sa.Double, nullable=False),
        schema=schema,
    )
