"""Makes of a JSON value what an annotation promises the function, or says what does not fit."""

import sys

from _belljar.kinds import fields_of, is_model, is_typed_dict, kind_of, names_of, unwrapped

JSON_TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}


class Mismatch(ValueError):
    """Says where a value does not fit, and what would."""


def convert(annotation, value, path, names):
    bare = unwrapped(annotation, names)[0]
    kind, *rest = kind_of(bare, names)
    return CONVERSIONS[kind](rest, value, path, names)


def to_any(_rest, value, _path, _names):
    return value


def to_simple(rest, value, path, _names):
    name = rest[0]
    is_right = isinstance(value, JSON_TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
    if not is_right and name == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    need(is_right, path, "must be %s" % ("null" if name == "null" else "an integer" if name == "integer" else "a " + name))
    return float(value) if name == "number" and -(2**1023) < value < 2**1023 else value


def to_literal(rest, value, path, _names):
    for each in rest[0]:
        plain = getattr(each, "value", each)
        if plain == value and type(plain) is type(value):
            return each
    raise Mismatch("%s must be one of %s" % (path, ", ".join(repr(getattr(each, "value", each)) for each in rest[0])))


def to_union(rest, value, path, names):
    told = []
    for each in rest[0]:
        try:
            return convert(each, value, path, names)
        except Mismatch as mismatch:
            told.append(str(mismatch))
    raise Mismatch("; or ".join(told))


def to_list(rest, value, path, names):
    need(isinstance(value, list), path, "must be a list")
    return [convert(rest[0], each, "%s[%d]" % (path, index), names) for index, each in enumerate(value)]


def to_set(rest, value, path, names):
    base, item = rest
    items = to_list([item], value, path, names)
    try:
        return frozenset(items) if base is frozenset else set(items)
    except TypeError:
        raise Mismatch("%s holds what no set can hold" % path) from None


def to_tuple(rest, value, path, names):
    types, every = rest
    if types is None:
        return tuple(to_list([every], value, path, names))
    need(isinstance(value, list) and len(value) == len(types), path, "must be a list of %d" % len(types))
    return tuple(convert(each, value[index], "%s[%d]" % (path, index), names) for index, each in enumerate(types))


def to_dict(rest, value, path, names):
    need(isinstance(value, dict), path, "must be an object")
    key, item = rest
    return {to_key(key, name, path, names): convert(item, each, "%s.%s" % (path, name), names) for name, each in value.items()}


def to_key(annotation, name, path, names):
    if annotation is int:
        try:
            return int(name)
        except ValueError:
            raise Mismatch("%s: the key %r must be an integer" % (path, name)) from None
    return convert(annotation, name, "%s: the key %r" % (path, name), names)


def to_enum(rest, value, path, _names):
    cls = rest[0]
    for member in cls:
        if member.value == value and type(member.value) is type(value):
            return member
    raise Mismatch("%s must be one of %s" % (path, ", ".join(repr(member.value) for member in cls)))


def to_bytes(rest, value, path, _names):
    from binascii import a2b_base64

    need(isinstance(value, str), path, "must be base64")
    try:
        return rest[0](a2b_base64(value))
    except ValueError:
        raise Mismatch("%s must be base64" % path) from None


def to_text(rest, value, path, _names):
    cls, _format = rest
    if cls.__name__ == "Decimal" and isinstance(value, (int, float)) and not isinstance(value, bool):
        value = repr(value)
    need(isinstance(value, str), path, "must be a string")
    try:
        if not hasattr(cls, "fromisoformat"):
            return cls(value)
        return cls.fromisoformat(value[:-1] + "+00:00" if value[-1:] in ("Z", "z") else value)
    except (ValueError, ArithmeticError) as error:
        raise Mismatch("%s must be a %s: %s" % (path, cls.__name__, error)) from None


def to_record(rest, value, path, _names):
    cls = rest[0]
    values = record_values(cls, value, path)
    if is_typed_dict(cls):
        return dict({name: each for name, each in value.items() if isinstance(name, str)}, **values)
    if is_model(cls):
        record = cls.__new__(cls)
        record.__dict__.update(values)
        return record
    return cls(**values)


def record_values(cls, value, path):
    """The fields of a record, with the defaults of those that are not there."""
    need(isinstance(value, dict), path, "must be an object")
    values, names = {}, names_of(cls)
    for field in fields_of(cls):
        if field.name in value:
            given, place = value[field.name], "%s.%s" % (path, field.name)
            # A record made by hand may hold values of its fields' types already.
            values[field.name] = given if is_whole(field.annotation, given) else convert(field.annotation, given, place, names)
        elif field.facts.is_optional and not is_typed_dict(cls):
            values[field.name] = field.facts.make_default()
        else:
            need(not field.is_required, path, "needs %r" % field.name)
    return values


def is_whole(annotation, value):
    is_class = isinstance(annotation, type) and not hasattr(annotation, "__origin__")  # `list[int]` says that it is one too.
    if not is_class or is_typed_dict(annotation):
        return False
    return isinstance(value, annotation) and type(value) not in (bool, str, int, float, list, dict)


def to_pydantic(rest, value, path, _names):
    pydantic = sys.modules["pydantic"]
    try:
        return pydantic.TypeAdapter(rest[0]).validate_python(value)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join("[%d]" % each if isinstance(each, int) else ".%s" % each for each in first["loc"])
        raise Mismatch("%s%s: %s" % (path, place, first["msg"])) from None


def need(is_right, path, what):
    if not is_right:
        raise Mismatch("%s %s" % (path, what))


CONVERSIONS = {
    "any": to_any,
    "simple": to_simple,
    "literal": to_literal,
    "union": to_union,
    "list": to_list,
    "set": to_set,
    "tuple": to_tuple,
    "dict": to_dict,
    "enum": to_enum,
    "bytes": to_bytes,
    "text": to_text,
    "record": to_record,
    "pydantic": to_pydantic,
}
