"""The tools of a code as their callers see them."""

from _belljar.docstrings import parse_docstring
from _belljar.errors import cut
from _belljar.fields import limit
from _belljar.kinds import Unsupported, is_record
from _belljar.output import output_of
from _belljar.program import MODULE, Refused
from _belljar.schema import Schemas
from _belljar.signature import BadSignature, inner, parameters_of
from _belljar.values import NotJson, TooLarge, plain

MOST_TOOLS = 100
LONGEST = {"name": 200, "title": 200, "description": 60_000}
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
# What an entry of annotations={"parameters": {...}} may say.
SAID = (
    "title description examples type enum format pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"
    " minLength maxLength minItems maxItems uniqueItems deprecated"
).split()


def describe(tools, code):
    if not tools:
        raise Refused("The code has no tool: put @mcp.tool above a function")
    if len(tools) > MOST_TOOLS:
        raise Refused("The code has more than %d tools" % MOST_TOOLS)
    described, names = [], {}
    for key, tool in tools.items():
        each = Description(tool, code).of(key)
        if each["name"] in names:
            raise Refused("Two tools are called %r, the other in line %s" % (each["name"], names[each["name"]]), tool.line)
        names[each["name"]] = tool.line
        described.append(each)
    return described


class Description:
    def __init__(self, tool, code):
        self.tool = tool
        self.code = code

    def of(self, key):
        try:
            return plain(self.made(inner(self.tool.function), key))
        except BadSignature as error:
            raise self.refusal(str(error), error.parameter) from None
        except (NotJson, TooLarge) as error:
            raise self.refusal("The description of the tool %r is no JSON: %s" % (key, error)) from None

    def refusal(self, message, parameter=None):
        if parameter is None or inner(self.tool.function).__module__ != MODULE:
            return Refused(message, self.tool.line)
        return Refused(message, line_of_parameter(self.code, inner(self.tool.function).__code__.co_firstlineno, parameter))

    def made(self, function, key):
        text, of_parameters = parse_docstring(function.__doc__)
        said = self.annotations()
        made = {
            "function": key,
            "name": self.text("name") or function.__name__,
            "title": self.text("title") or said.get("title"),
            "description": self.text("description") or text,
            "inputSchema": self.input_schema(said.get("parameters"), of_parameters),
            "outputSchema": self.output_schema(),
            "annotations": {hint: said[hint] for hint in HINTS if said.get(hint) is not None} or None,
        }
        if made["name"] == "<lambda>":
            raise BadSignature("A tool that is a lambda needs a name: @mcp.tool(name=...)")
        if any(type(each) is not bool for each in (made["annotations"] or {}).values()):
            raise BadSignature("The hints of a tool (%s) are True or False" % ", ".join(HINTS))
        for name, longest in LONGEST.items():
            if cut(made[name] or "", longest) != (made[name] or ""):
                raise BadSignature("The %s of a tool has at most %d letters" % (name, longest))
        return {name: value for name, value in made.items() if value is not None}

    def text(self, name):
        value = getattr(self.tool, name)
        if value is not None and not isinstance(value, str):
            raise BadSignature("The %s of a tool is a text, not a %s" % (name, type(value).__name__))
        return value and value.strip()

    def annotations(self):
        said = self.tool.annotations
        if said is not None and not isinstance(said, dict):
            said = said.model_dump() if hasattr(said, "model_dump") else getattr(said, "__dict__", None)
            if said is None:
                raise BadSignature("The annotations of a tool are a dict or ToolAnnotations")
        return said or {}

    def input_schema(self, said, of_parameters):
        schemas, names = Schemas("validation"), inner(self.tool.function).__globals__
        said = said if isinstance(said, dict) else {}
        schema = {"type": "object", "properties": {}, "additionalProperties": False}
        required = []
        for each in parameters_of(self.tool.function):
            if each.is_context:
                continue
            if not each.facts.is_optional:
                required.append(each.name)
            try:
                made = self.parameter(schemas, each, names)
            except (Unsupported, NotJson) as error:
                raise BadSignature("The type of the parameter `%s` cannot be described: %s" % (each.name, error), each.name) from None
            schema["properties"][each.name] = merged(made, said.get(each.name), of_parameters.get(each.name))
        if required:
            schema["required"] = required
        return dict(schema, **{"$defs": schemas.defs}) if schemas.defs else schema

    def parameter(self, schemas, parameter, names):
        schema = limit(schemas.of(parameter.annotation, names), parameter.facts.keywords)
        schema = plain(dict(schema, **parameter.facts.notes))
        if not parameter.facts.default:
            return schema
        try:
            default = plain(parameter.facts.default[0])
        except (NotJson, TooLarge) as error:
            raise BadSignature("The default of the parameter `%s` is no JSON: %s" % (parameter.name, error), parameter.name) from None
        if default is None and schema and not takes_null(schema):
            notes = {name: schema.pop(name) for name in ("title", "description", "examples") if name in schema}
            others = schema.pop("anyOf") if list(schema) == ["anyOf"] else [schema]
            schema = dict({"anyOf": [*others, {"type": "null"}]}, **notes)
        return dict(schema, default=default)

    def output_schema(self):
        output = output_of(self.tool)
        if output is None:
            return None
        schemas = Schemas("serialization")
        try:
            schema = schemas.of(output.annotation, output.names)
        except Unsupported as error:
            raise BadSignature("The return type cannot be described: %s" % error) from None
        if output.is_list:
            schema = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
        elif "$ref" in schema:
            schema = dict(schemas.defs[schema["$ref"].rpartition("/")[2]])
            if is_record(output.annotation) and not refers(schemas.defs, output.annotation, schemas):
                del schemas.defs[schemas.names[output.annotation]]
        return dict(schema, **{"$defs": schemas.defs}) if schemas.defs else schema


def refers(defs, cls, schemas):
    """Whether some record holds one of this class: its definition must stay then."""
    return '"#/$defs/%s"' % schemas.names[cls] in encode_text(defs)


def encode_text(tree):
    from _belljar.json_text import encode

    return encode(plain(tree)).decode("utf-8")


def merged(schema, said, text):
    """What the form annotations={"parameters": ...} says of a parameter wins, as in document 1; the docstring fills a gap."""
    said = {"description": said} if isinstance(said, str) else said if isinstance(said, dict) else {}
    for name in SAID:
        if said.get(name) is not None and (name in ("title", "description") or name not in schema and not is_typed(schema, name)):
            schema[name] = said[name]
    if text and "description" not in schema:
        schema["description"] = text
    return schema


def is_typed(schema, name):
    return name == "type" and bool({"anyOf", "$ref", "enum"} & set(schema))


def takes_null(schema):
    if schema.get("type") == "null" or None in schema.get("enum", ()):
        return True
    if "anyOf" in schema:
        return any(map(takes_null, schema["anyOf"]))
    return not {"type", "$ref", "enum"} & set(schema)


def line_of_parameter(code, line, name):
    """A parameter may stand lines below its function's first, which is its first decorator's."""
    import ast

    for node in ast.walk(ast.parse(code.lstrip("\ufeff"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            starts = [node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            if min(starts) == line:
                return next((each.lineno for each in every if each.arg == name), line)
    return line
