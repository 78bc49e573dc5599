"""A hook of mkdocs: links from the pages to files outside docs/ lead to the repository, where there is one."""

import os
import re

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)]+)\)")


def on_page_markdown(markdown: str, **_) -> str:
    """Turn `[text](../file)` into a link below CEPSQL_REPOSITORY, or into its text if that is not set."""
    repository = os.environ.get("CEPSQL_REPOSITORY", "").rstrip("/")
    return _OUTSIDE.sub(lambda link: f"[{link[1]}]({repository}/{link[2]})" if repository else link[1], markdown)
