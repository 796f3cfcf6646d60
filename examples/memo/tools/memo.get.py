import json
import urllib.error
import urllib.request
from typing import Annotated, TypedDict

from pydantic import Field

BACK_END = "http://127.0.0.1:48000"


class Memo(TypedDict):
    id: str
    title: str
    text: str
    created: str
    updated: str


def ask(method, path, body=None):
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BACK_END + path, sent, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise ValueError(json.load(error)["error"]) from None


@mcp.tool(name="memo.get", description="Shows one memo", annotations={"readOnlyHint": True})
def memo_get(id: Annotated[str, Field(description="Of memo_create or memo_list", pattern="^[0-9a-f-]{36}$")]) -> Memo:
    return ask("GET", f"/memos/{id}")
