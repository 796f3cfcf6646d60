"""Whether a function's return annotation promises data: a record with known fields, or a list of these."""

import sys

from _belljar.signature import inner

WITHOUT_FIELDS = frozenset((str, int, float, bool, dict, list, type(None), None, object))
PLAIN_NAMES = frozenset(("str", "int", "float", "bool", "dict", "list", "None"))


class Output:
    __slots__ = ("annotation", "names", "is_list")

    def __init__(self, annotation, names, is_list):
        self.annotation = annotation
        self.names = names
        self.is_list = is_list


def output_of(tool):
    function = inner(tool.function)
    annotation = function.__annotations__.get("return", object)
    is_plain = type(annotation) is type and annotation in WITHOUT_FIELDS or annotation is None
    if is_plain or not tool.is_structured or type(annotation) is str and annotation in PLAIN_NAMES:
        return None
    from _belljar.kinds import Unsupported, kind_of, unwrapped

    names = function.__globals__
    try:
        bare = unwrapped(annotation, names)[0]
        kind, *rest = kind_of(bare, names)
        if kind == "list":
            item, *of = kind_of(unwrapped(rest[0], names)[0], names)
            return Output(bare, names, True) if is_object(item, of) else None
        return Output(bare, names, False) if is_object(kind, rest) else None
    except Unsupported:
        return None  # Such as `-> Image`: content alone.


def is_object(kind, rest):
    if kind == "pydantic":
        return not getattr(rest[0], "__pydantic_root_model__", False)
    return kind == "record" and not is_block_class(rest[0])


def is_block_class(cls):
    blocks = sys.modules.get("_belljar.blocks")
    return blocks is not None and issubclass(cls, (blocks.Medium, blocks.Record))
