import { expect, it } from "vitest";
import { valueFrame } from "./value-frame.ts";

it("names the forms as E2B's clients know them", () => {
  const media = ["text/html", "text/markdown", "image/svg+xml", "image/png", "image/jpeg", "application/pdf", "text/latex"];
  const data = { ...Object.fromEntries(media.map((type) => [type, type])), "application/json": { a: [1] }, "application/javascript": "1" };
  expect(valueFrame({ type: "result", data: { ...data, "e2b/data": { n: [1] }, "e2b/chart": { type: "line" } } })).toEqual({
    type: "result",
    html: "text/html",
    markdown: "text/markdown",
    svg: "image/svg+xml",
    png: "image/png",
    jpeg: "image/jpeg",
    pdf: "application/pdf",
    latex: "text/latex",
    json: { a: [1] },
    javascript: "1",
    data: { n: [1] },
    chart: { type: "line" },
    extra: {},
    is_main_result: true,
  });
});

it.each([
  ["'a'", "a"],
  ['"it\'s"', "it's"],
  ["'", "'"],
  ["''", ""],
  ["'a\"", "'a\""],
  ["['a']", "['a']"],
  ["", ""],
])("shows the text %s as %s", (given, told) => {
  expect(valueFrame({ type: "display", data: { "text/plain": given } })).toMatchObject({ text: told, is_main_result: false });
});

it("keeps what has no name as extra, but not Belljar's own forms, and lets no name change the frame", () => {
  const data = Object.fromEntries([
    ["application/vnd.vega+json", { v: 1 }],
    ["application/vnd.belljar.table+json", {}],
    ["type", "error"],
    ["__proto__", { is_main_result: false }],
  ]);
  const frame = valueFrame({ type: "result", data });
  expect(Object.keys(frame)).toEqual(["type", "extra", "is_main_result"]);
  expect(JSON.parse(JSON.stringify(frame))).toMatchObject({ type: "result", is_main_result: true });
  expect(Object.keys(frame["extra"] as object)).toEqual(["application/vnd.vega+json", "type", "__proto__"]);
});
