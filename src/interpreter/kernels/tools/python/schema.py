"""JSON Schema (draft 2020-12) of type annotations."""

import sys

from _belljar.fields import limit
from _belljar.kinds import Unsupported, fields_of, is_typed_dict, kind_of, names_of, unwrapped
from _belljar.values import NotJson, plain

MOST_PARTS = 5000
DEEPEST = 50
TYPE_OF = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


class Schemas:
    """The schemas of one tool's side. Each record stands once, in `defs`, so that records may hold themselves."""

    def __init__(self, mode):
        self.mode = mode
        self.defs = {}
        self.names = {}
        self.parts = 0
        self.depth = 0

    def of(self, annotation, names):
        """The annotation may be wrapped; what `Annotated` says of a part is in its schema."""
        self.parts += 1
        self.depth += 1
        if self.parts > MOST_PARTS or self.depth > DEEPEST:
            raise Unsupported("it has too many parts, or holds itself without a class of its own")
        bare, facts, _words = unwrapped(annotation, names)
        kind, *rest = kind_of(bare, names)
        schema = getattr(self, "of_" + kind)(rest, names)
        self.depth -= 1
        return dict(limit(schema, facts.keywords), **facts.notes)

    def of_any(self, _rest, _names):
        return {}

    def of_simple(self, rest, _names):
        return {"type": rest[0]}

    def of_literal(self, rest, _names):
        return choice([getattr(each, "value", each) for each in rest[0]])

    def of_enum(self, rest, _names):
        return choice([member.value for member in rest[0]])

    def of_union(self, rest, names):
        schemas = []
        for each in rest[0]:
            schema = self.of(each, names)
            schemas.extend(schema["anyOf"] if list(schema) == ["anyOf"] else [schema])
        return {"anyOf": schemas}

    def of_list(self, rest, names):
        return array(self.of(rest[0], names))

    def of_set(self, rest, names):
        return dict(array(self.of(rest[1], names)), uniqueItems=True)

    def of_tuple(self, rest, names):
        types, every = rest
        if types is None:
            return array(self.of(every, names))
        sizes = {"minItems": len(types), "maxItems": len(types)}
        return dict({"type": "array", "prefixItems": [self.of(each, names) for each in types]} if types else {"type": "array"}, **sizes)

    def of_dict(self, rest, names):
        key, item = rest
        schema = {"type": "object"}
        values = self.of(item, names)
        if values:
            schema["additionalProperties"] = values
        keys = {"pattern": "^-?[0-9]+$"} if key is int else self.of(key, names)
        if key is not int and keys and keys.get("type") != "string":
            raise Unsupported("the keys of a JSON object are texts")
        return dict(schema, propertyNames=keys) if keys not in ({}, {"type": "string"}) else schema

    def of_bytes(self, _rest, _names):
        return {"type": "string", "contentEncoding": "base64"}

    def of_text(self, rest, _names):
        cls, format = rest
        if cls.__name__ == "Decimal":
            return {"anyOf": [{"type": "number"}, {"type": "string"}]} if self.mode == "validation" else {"type": "string"}
        return {"type": "string", "format": format} if format else {"type": "string"}

    def of_pydantic(self, rest, _names):
        pydantic = sys.modules["pydantic"]
        try:
            schema = pydantic.TypeAdapter(rest[0]).json_schema(ref_template="#/$defs/{model}", mode=self.mode)
        except pydantic.PydanticUserError as error:
            raise Unsupported(str(error).partition("\n")[0]) from None
        for name, each in schema.pop("$defs", {}).items():
            if self.defs.setdefault(name, each) != each:
                raise Unsupported("two models are called %s" % name)
        return schema

    def of_record(self, rest, _names):
        cls = rest[0]
        if cls not in self.names:
            self.names[cls] = name = self.free_name("".join(each if each.isascii() and each.isalnum() else "_" for each in cls.__name__))
            self.defs[name] = {}
            self.defs[name] = self.record(cls)
        return {"$ref": "#/$defs/" + self.names[cls]}

    def free_name(self, name):
        count = 1
        while name + (str(count) if count > 1 else "") in self.defs:
            count += 1
        return name + (str(count) if count > 1 else "")

    def record(self, cls):
        properties, required = {}, []
        for field in fields_of(cls):
            if field.is_required:
                required.append(field.name)
            properties[field.name] = self.property(field, names_of(cls))
        schema = {"type": "object", "properties": properties}
        text = own_docstring(cls)
        if text:
            schema["description"] = text
        return dict(schema, required=required) if required else schema

    def property(self, field, names):
        schema = dict(limit(self.of(field.annotation, names), field.facts.keywords), **field.facts.notes)
        if field.facts.default:
            try:
                schema["default"] = plain(field.facts.default[0])
            except NotJson:
                pass  # The field may be left out all the same.
        return schema


def own_docstring(cls):
    """Not the one that Python makes up for a dataclass or a named tuple."""
    text = cls.__dict__.get("__doc__") or ""
    is_made_up = text.startswith(cls.__name__ + "(") or is_typed_dict(cls) and text == dict.__doc__
    return "" if is_made_up or not isinstance(text, str) else text.strip()


def array(items):
    return {"type": "array", "items": items} if items else {"type": "array"}


def choice(values):
    types = {TYPE_OF.get(type(each)) for each in values}
    if None in types:
        raise Unsupported("a choice is of texts, numbers, booleans and None")
    values = list(values)
    if len(types) == 1:
        return {"type": types.pop(), "enum": values}
    return {"enum": values}
