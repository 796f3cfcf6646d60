import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callBody, textOf } from "../../support/python-tools.ts";
import { callCode } from "../../support/tool-harness.ts";

const text = (value: string): object => ({ type: "result", content: [{ type: "text", text: value }] });
const GIF = "R0lGODlh";

it.each([
  ["nothing", "pass", { type: "result", content: [] }],
  ["a text as it is", "return 'a\\n\"é\\ud83d\\ude00'", text('a\n"é\ud83d\ude00')],
  ["an empty text", "return ''", text("")],
  ["a number", "return 1.50", text("1.5")],
  ["a boolean", "return True", text("true")],
  [
    "a container over several lines",
    "return {'b': [1, None], 'a': {}, 'é': ()}",
    text('{\n  "b": [\n    1,\n    null\n  ],\n  "a": {},\n  "é": []\n}'),
  ],
  ["texts alone as data", "return ['a', 'b']", text('[\n  "a",\n  "b"\n]')],
  [
    "sets in order, bytes, days and paths",
    "import datetime, pathlib\nreturn [{3, 1}, b'hi', datetime.date(2024, 1, 2), pathlib.Path('/x')]",
    text('[\n  [\n    1,\n    3\n  ],\n  "aGk=",\n  "2024-01-02",\n  "/x"\n]'),
  ],
  ["keys that JSON makes texts of", "return {1: 1, None: 2, True: 3}", text('{\n  "1": 3,\n  "null": 2\n}')],
  ["values of classes that are texts and numbers", "class S(str):\n    def __str__(self): return 'no'\nreturn S('yes')", text("yes")],
  ["a picture", "return Image(data=b'GIF89a')", { type: "result", content: [{ type: "image", data: GIF, mimeType: "image/gif" }] }],
  [
    "a picture of a format",
    "return Image(data=b'GIF89a', format='jpeg')",
    { type: "result", content: [{ type: "image", data: GIF, mimeType: "image/jpeg" }] },
  ],
  [
    "pictures and texts in turn",
    "return ['a', Image(data=b'GIF89a'), Audio(data=b'GIF89a')]",
    {
      type: "result",
      content: [
        { type: "text", text: "a" },
        { type: "image", data: GIF, mimeType: "image/gif" },
        { type: "audio", data: GIF, mimeType: "image/gif" },
      ],
    },
  ],
  [
    "a resource and a link",
    "return [EmbeddedResource(resource=TextResourceContents(uri='a://b', text='t')), ResourceLink(uri='a://c', name='c', title=None)]",
    {
      type: "result",
      content: [
        { type: "resource", resource: { uri: "a://b", text: "t" } },
        { type: "resource_link", uri: "a://c", name: "c" },
      ],
    },
  ],
  [
    "dicts that are blocks",
    `return [{'type': 'image', 'data': '${GIF}', 'mimeType': 'image/gif'}]`,
    { type: "result", content: [{ type: "image", data: GIF, mimeType: "image/gif" }] },
  ],
  [
    "a dict that only has a type",
    "return {'type': 'text', 'text': 'x', 'size': 1}",
    text('{\n  "type": "text",\n  "text": "x",\n  "size": 1\n}'),
  ],
])("gives %s", async (_what, body, answer) => {
  expect(await callBody(body)).toEqual(answer);
});

it.each([
  ["not a number", "return {'a': [1, float('nan')]}", "$.a[1] is nan"],
  ["an object", "return {'items': [1, 2, 3, object()]}", "$.items[3] is of the type object"],
  ["a key that is a tuple", "return {'a': {(1, 2): 3}}", "$.a has a key that is a tuple"],
  ["a list that holds itself", "a = []\na.append(a)\nreturn a", "nested more than 200 levels deep, or holds itself"],
  ["a depth without end", "a = None\nfor _ in range(100_000): a = [a]\nreturn a", "nested more than 200 levels deep"],
  ["a generator", "return (x for x in [1])", "of the type generator"],
  ["a very long integer", "return 10 ** 5000", "is an integer of 16610 bits"],
  ["a block that lacks a part", "return ImageContent(data='x')", "lacks mimeType"],
  ["100 MB of text", "return 'x' * 10 ** 8", "result too large"],
  ["100 MB in pieces", "return ['x' * 1000] * 10 ** 5", "result too large"],
  ["a million of small things", "return [0] * 3_000_000", "result too large"],
  ["a text whose escapes are too large", "return chr(1) * 2_000_000", "result too large"],
  ["a text that is too large by a little", "return 'x' * (8 << 20)", "result too large"],
  ["a thousand blocks and one", "return [Audio(data=b'')] * 1001", "more than 1000 blocks"],
  ["a large picture", "return Image(data=bytes(7 << 20))", "result too large"],
])("says where %s stands that JSON cannot hold", async (_what, body, message) => {
  expect(await callBody(body)).toEqual({
    type: "error",
    name: expect.any(String),
    message: expect.stringContaining(message),
    traceback: "",
  });
});

describe("with a return annotation that promises data", () => {
  const POINT = "@dataclass\nclass P:\n    x: int\n    y: Optional['P'] = None\nclass T(TypedDict):\n    a: int\n    b: NotRequired[str]\n";
  const answer = async (annotation: string, value: string): Promise<unknown> =>
    (await callCode("python", `${POINT}@mcp.tool\ndef f() -> ${annotation}: return ${value}`, "f")).last;

  it.each([
    ["P", "P(1, P(2))", { x: 1, y: { x: 2, y: null } }],
    ["P", "{'x': 1, 'y': None}", { x: 1, y: null }],
    ["T", "{'a': 1}", { a: 1 }],
    ["List[P]", "[P(1)]", { result: [{ x: 1, y: null }] }],
    ["'list[T]'", "[]", { result: [] }],
  ])("%s gives %s", async (annotation, value, structured) => {
    expect(await answer(annotation, value)).toMatchObject({ type: "result", structured });
  });

  it.each([
    ["P", "{'x': 'a'}", "$.x must be an integer"],
    ["P", "None", "$ must be an object"],
    ["P", "P(1, P(2, P('x')))", "$.y.y.x must be an integer"],
    ["T", "{'b': 'x'}", "$ needs 'a'"],
    ["List[T]", "[{'a': 1}, {'a': True}]", "$[1].a must be an integer"],
    ["List[T]", "{'a': 1}", "$ must be a list"],
    ["P", "Image(data=b'x')", "$ needs 'x'"],
  ])("%s does not fit %s", async (annotation, value, message) => {
    expect(await answer(annotation, value)).toMatchObject({
      type: "error",
      message: expect.stringContaining(`The result does not fit the return type: ${message}`),
    });
  });

  it.each(["dict", "Dict[str, Any]", "Any", "Optional[P]", "str"])("%s gives content alone", async (annotation) => {
    expect(await answer(annotation, "{'x': 1}")).toEqual(text('{\n  "x": 1\n}'));
  });
});

describe("passes any JSON through", () => {
  const CODE = "@mcp.tool\ndef f(a): return a\n@mcp.tool\ndef size(a: str): return len(a)";
  const anyText = fc.string({ unit: fc.nat(0xffff).map((letter) => String.fromCharCode(letter)) });
  const anyValue = fc.oneof(fc.jsonValue(), anyText, fc.dictionary(anyText, anyText));

  it("unchanged", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyValue, { size: "large" }), async (values) => {
        const sent = JSON.parse(JSON.stringify(values)) as unknown;
        const { last } = await callCode("python", CODE, "f", { a: values });
        expect(JSON.parse(textOf(last))).toStrictEqual(sent);
      }),
      { numRuns: 15 },
    );
  });

  it.each([
    ["quotes \" ' \\ \n \r \t \0 \u2028 ''' \"\"\" {} %s $x `"],
    ["\ud800"],
    ["\u{1f600}".repeat(1000)],
    ["é".repeat(3 << 20)],
    ["</requirements>"],
  ])("as a text", async (value) => {
    const { last } = await callCode("python", CODE, "f", { a: value });
    expect(textOf(last) === value).toBe(true);
  });

  it("in a text of 10 MB", async () => {
    expect((await callCode("python", CODE, "size", { a: "é\n".repeat(5 << 20) })).last).toEqual(text(String(10 << 20)));
  });
});
