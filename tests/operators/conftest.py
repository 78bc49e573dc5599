"""Here many keys have one hash, as few do elsewhere."""

import pytest

from cepsql.ordered.keyed import keyed_rows
from cepsql.ordered.keyed.key_hashes import key_hashes


@pytest.fixture(scope="module", autouse=True)
def few_hashes():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyed_rows, "key_hashes", lambda columns, rows: key_hashes(columns, rows) & 3)
        yield
