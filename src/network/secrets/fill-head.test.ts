import { expect, it } from "vitest";
import type { HeadPart } from "./fill-head.ts";
import { fillHead } from "./fill-head.ts";
import { createPlaceholder } from "./placeholder.ts";

const ONE = createPlaceholder();
const base64 = (text: string): string => Buffer.from(text, "latin1").toString("base64");

/** Fills in V, and tells where placeholders were found. */
function fill(path: string, headers: Readonly<Record<string, string | string[] | undefined>>) {
  const found: HeadPart[] = [];
  const filled = fillHead({ path, headers }, (_placeholder, place) => {
    found.push(place);
    return "V";
  });
  return { ...filled, found };
}

it("fills in the path, each header and each of its values", () => {
  const { path, headers, found } = fill(`/a?key=${ONE}&${ONE}`, {
    "x-key": `k ${ONE}`,
    cookie: undefined,
    "set-cookie": ["a", ONE],
    plain: "p",
  });
  expect(path).toBe("/a?key=V&V");
  expect(headers).toEqual({ "x-key": "k V", "set-cookie": ["a", "V"], plain: "p" });
  expect(found).toEqual(["path", "path", "header", "header"]);
});

it("fills in basic authorization, in any header and in both alphabets", () => {
  for (const name of ["authorization", "x-auth"]) {
    const { headers, found } = fill("/", { [name]: `Basic ${base64(`ann:${ONE}`)}` });
    expect([headers[name], found]).toEqual([`Basic ${base64("ann:V")}`, ["basic"]]);
  }
  expect(
    fill("/", { authorization: `basic   ${base64(`ann\u00ff\u00fe:${ONE}`).replaceAll("/", "_").replaceAll("+", "-")} ` }).headers,
  ).toEqual({
    authorization: `basic   ${base64("ann\u00ff\u00fe:V")}`,
  });
  expect(fill("/", { authorization: `Basic ${base64("ann:b")}` }).headers).toEqual({ authorization: `Basic ${base64("ann:b")}` });
  expect(fill("/", { authorization: `Bearer ${ONE}` })).toMatchObject({ headers: { authorization: "Bearer V" }, found: ["header"] });
});

it.each([
  "host",
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])("tells that %s controls the connection", (name) => {
  expect(fill("/", { [name]: ONE }).found).toEqual(["fixed"]);
  expect(fill("/", { [name]: `Basic ${base64(ONE)}` }).found).toEqual(["fixed"]);
});

it("tells of a placeholder in a header's name", () => {
  expect(fill("/", { [`x-${ONE}`]: "a" }).found).toEqual(["fixed"]);
});
