"""What a tool returned as blocks of content, and as data where its annotation promised some."""

import sys

from _belljar.json_text import pretty
from _belljar.values import NotJson, plain

NEEDED = {
    "text": {"text"},
    "image": {"data", "mimeType"},
    "audio": {"data", "mimeType"},
    "resource": {"resource"},
    "resource_link": {"uri", "name"},
}
MOST_BLOCKS = 1000
ALLOWED = {"annotations", "_meta"}
ALLOWED_OF_LINK = ALLOWED | {"title", "description", "mimeType", "size", "icons"}


def answer_of(value, output):
    """`output` is what `output_of` says of the function, or None."""
    if output is not None:
        return structured(value, output)
    if value is None:
        return {"type": "result", "content": []}
    return {"type": "result", "content": blocks_of(value) or [text_of(value)]}


def structured(value, output):
    from _belljar.convert import convert

    tree = plain(value)
    convert(output.annotation, tree, "The result does not fit the return type: $", output.names)
    return {
        "type": "result",
        "content": [{"type": "text", "text": pretty(tree)}],
        "structured": {"result": tree} if output.is_list else tree,
    }


def text_of(value):
    tree = plain(value)
    return {"type": "text", "text": tree if type(tree) is str else pretty(tree)}


def blocks_of(value):
    """A list of blocks if the value is one block or a list of blocks, which texts may stand between; else None."""
    one = block_of(value)
    if one is not None:
        return [one]
    if type(value) not in (list, tuple):
        return None
    blocks = []
    for each in value:
        block = block_of(each)
        if block is None and not isinstance(each, str):
            return None
        blocks.append(block)
    if not any(blocks):
        return None  # Texts alone are data.
    if len(blocks) > MOST_BLOCKS:
        raise NotJson("holds more than %d blocks" % MOST_BLOCKS)
    return [text_of(each) if block is None else block for each, block in zip(value, blocks)]


def block_of(value):
    kind = type(value)
    if hasattr(kind, "to_block"):
        tree = plain(value)
        if is_block(tree):
            return tree
        raise NotJson("is a %s that lacks %s" % (kind.__name__, lacks(tree)))
    if kind.__module__.startswith("mcp.") and hasattr(kind, "model_dump"):
        tree = plain(value.model_dump(mode="json", by_alias=True, exclude_none=True))
        return tree if is_block(tree) else None
    return plain(value) if kind is dict and is_block(value) else None


def lacks(tree):
    return " or ".join(sorted(NEEDED.get(tree.get("type"), {"a type"}) - set(tree))) or "fields of the right types"


def is_block(value):
    """So strict that a dict of the author's own, which happens to have a `type`, stays data."""
    kind = value.get("type")
    if type(kind) is not str or kind not in NEEDED:
        return False
    names = set(value) - {"type"}
    if not NEEDED[kind] <= names <= NEEDED[kind] | (ALLOWED_OF_LINK if kind == "resource_link" else ALLOWED):
        return False
    if kind == "resource":
        return is_resource(value["resource"])
    return all(isinstance(value[name], str) for name in NEEDED[kind])


def is_resource(value):
    if "_belljar.blocks" in sys.modules and isinstance(value, sys.modules["_belljar.blocks"].Record):
        value = value.to_block()
    is_named = isinstance(value, dict) and isinstance(value.get("uri"), str)
    return is_named and any(isinstance(value.get(name), str) for name in ("text", "blob"))
