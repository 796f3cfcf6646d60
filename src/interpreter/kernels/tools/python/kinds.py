"""What a type annotation says, in the few kinds that schemas and conversions tell apart."""

import collections.abc
import sys
import types
import typing

from _belljar.fields import Facts, is_field

SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null", None: "null"}
LISTS = (list, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Iterable, collections.abc.Collection)
SETS = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))
TEXTS = {
    ("datetime", "datetime"): "date-time",
    ("datetime", "date"): "date",
    ("datetime", "time"): "time",
    ("uuid", "UUID"): "uuid",
    ("pathlib", "Path"): None,
    ("pathlib", "PurePath"): None,
    ("decimal", "Decimal"): None,
}
FEWER_WORDS = ("Required", "NotRequired", "ReadOnly", "Final")
DEEPEST = 60


class Unsupported(Exception):
    """A type that no JSON can be made into."""


class Field:
    """Of a record."""

    __slots__ = ("name", "annotation", "facts", "is_required")

    def __init__(self, name, annotation, facts, is_required):
        self.name = name
        self.annotation = annotation
        self.facts = facts
        self.is_required = is_required


def resolve(annotation, names):
    """The type that an annotation stands for. `names` are those of the module in which a text of it was written."""
    for _ in range(DEEPEST):
        if isinstance(annotation, typing.ForwardRef):
            annotation = annotation.__forward_arg__
        if isinstance(annotation, str):
            annotation = evaluate(annotation, names)
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            return annotation
    raise Unsupported("it names itself")


def evaluate(text, names):
    try:
        return eval(text, names)
    except TypeError:
        pass  # Before Python 3.10 types know no `|`.
    except Exception as error:
        raise Unsupported("%s: %s" % (type(error).__name__, error)) from None
    try:
        return eval(without_bars(text), dict(names, __union__=typing.Union))
    except Exception as error:
        raise Unsupported("%s: %s" % (type(error).__name__, error)) from None


def without_bars(text):
    import ast

    class Bars(ast.NodeTransformer):
        def visit_BinOp(self, node):
            self.generic_visit(node)
            if not isinstance(node.op, ast.BitOr):
                return node
            both = ast.Tuple([node.left, node.right], ast.Load())
            return ast.Subscript(ast.Name("__union__", ast.Load()), both, ast.Load())

    return compile(ast.fix_missing_locations(Bars().visit(ast.parse(text, mode="eval"))), "<annotation>", "eval")


def unwrapped(annotation, names):
    """The bare type, and what `Annotated` says about it. The words around fields of a `TypedDict` go too."""
    facts, words = Facts(), set()
    for _ in range(DEEPEST):
        annotation = resolve(annotation, names)
        origin = typing.get_origin(annotation)
        word = getattr(origin, "_name", None) or ""
        if origin is typing.Annotated:
            for said in annotation.__metadata__:
                facts.add(said)
            annotation = annotation.__origin__
        elif word in FEWER_WORDS:
            words.add(word)
            annotation = typing.get_args(annotation)[0]
        else:
            return annotation, facts, words
    raise Unsupported("it is nested too deeply")


def kind_of(annotation, names):
    """A tuple: the kind's name, and what belongs to it. The annotation is bare."""
    if isinstance(annotation, typing.Hashable) and annotation in SIMPLE:
        return ("simple", SIMPLE[annotation])
    if annotation is typing.Any or annotation is object or isinstance(annotation, typing.TypeVar):
        return ("any",)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return ("literal", args)
    if origin in UNIONS:
        return ("union", args)
    container = container_kind(origin or annotation, args)
    return container or class_kind(annotation)


def container_kind(base, args):
    if base in LISTS:
        return ("list", args[0] if args else typing.Any)
    if base in SETS:
        return ("set", base, args[0] if args else typing.Any)
    if base in DICTS:
        return ("dict", args[0] if args else str, args[1] if args else typing.Any)
    if base is tuple:
        if not args or args[-1] is ...:
            return ("tuple", None, args[0] if args else typing.Any)
        return ("tuple", () if args == ((),) else args, None)
    return None


def class_kind(cls):
    if not isinstance(cls, type):
        raise Unsupported("no JSON can be made into it")
    if hasattr(cls, "__pydantic_validator__") or hasattr(cls, "__pydantic_core_schema__"):
        return ("pydantic", cls)
    if "enum" in sys.modules and issubclass(cls, sys.modules["enum"].Enum):
        return ("enum", cls)
    if is_record(cls):
        return ("record", cls)
    if issubclass(cls, (bytes, bytearray)):
        return ("bytes", cls)
    for base in cls.__mro__:
        key = (base.__module__.partition(".")[0], base.__name__)
        if key in TEXTS:
            return ("text", cls, TEXTS[key])
    for base in (str, int, float):
        if issubclass(cls, base):
            return ("simple", SIMPLE[base])
    raise Unsupported("no JSON can be made into it")


def is_record(cls):
    return is_typed_dict(cls) or is_model(cls) or hasattr(cls, "__dataclass_fields__") or is_named_tuple(cls)


def is_typed_dict(cls):
    return isinstance(cls, type) and issubclass(cls, dict) and hasattr(cls, "__total__")


def is_named_tuple(cls):
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_model(cls):
    models = sys.modules.get("_belljar.models")
    return models is not None and isinstance(cls, type) and issubclass(cls, models.BaseModel)


def names_of(cls):
    return vars(sys.modules.get(cls.__module__, typing))


def fields_of(cls):
    """The fields of a record, in the author's order."""
    if hasattr(cls, "__dataclass_fields__") and not is_model(cls):
        return dataclass_fields(cls)
    if is_typed_dict(cls):
        return typed_dict_fields(cls)
    if is_named_tuple(cls):
        defaults = cls._field_defaults
        hints = getattr(cls, "__annotations__", {})
        return [field(cls, name, hints.get(name, typing.Any), defaults.get(name, MISSING)) for name in cls._fields]
    found = {}
    for base in reversed(cls.__mro__):
        for name, annotation in base.__dict__.get("__annotations__", {}).items() if is_model(base) else ():
            found[name] = field(cls, name, annotation, getattr(cls, name, MISSING))
    return [each for name, each in found.items() if not name.startswith("_") and name != "model_config"]


MISSING = object()


def field(cls, name, annotation, default, factory=None):
    bare, facts, words = unwrapped(annotation, names_of(cls))
    if is_field(default):
        facts.add(default)
    elif default is not MISSING:
        facts.default = [default]
    facts.factory = factory or facts.factory
    return Field(name, bare, facts, not facts.is_optional)


def dataclass_fields(cls):
    missing = sys.modules["dataclasses"].MISSING
    fields = []
    for each in sys.modules["dataclasses"].fields(cls):
        if each.init:
            default = MISSING if each.default is missing else each.default
            factory = None if each.default_factory is missing else each.default_factory
            fields.append(field(cls, each.name, each.type, default, factory))
    return fields


def typed_dict_fields(cls):
    fields = []
    for name, annotation in cls.__annotations__.items():
        bare, facts, words = unwrapped(annotation, names_of(cls))
        is_required = name in cls.__required_keys__
        if "NotRequired" in words or "Required" in words:
            is_required = "Required" in words
        fields.append(Field(name, bare, facts, is_required))
    return fields
