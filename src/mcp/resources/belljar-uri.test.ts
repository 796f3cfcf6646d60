import { expect, it } from "vitest";
import { fileUri, parseUri } from "./belljar-uri.ts";

it.each([
  ["belljar://sandboxes/", { kind: "sandboxes" }],
  ["belljar://sandboxes", { kind: "sandboxes" }],
  ["belljar://sandboxes/abc", { kind: "sandbox", id: "abc" }],
  ["belljar://sandboxes/abc/files/home/user/a%20b.txt", { kind: "file", id: "abc", path: "/home/user/a b.txt" }],
  ["belljar://sandboxes/abc/files/a?offset=5&limit=10", { kind: "file", id: "abc", path: "/a", offset: 5, limit: 10 }],
  ["belljar://templates/", { kind: "templates" }],
  ["belljar://templates/base", { kind: "template", name: "base" }],
  ["belljar://results/0a?offset=7", { kind: "result", id: "0a", offset: 7 }],
])("reads %s", (uri, named) => {
  expect(parseUri(uri)).toEqual(named);
});

it.each([
  "",
  "nope",
  "file:///etc/passwd",
  "belljar://",
  "belljar://other/x",
  "belljar://templates/a/b",
  "belljar://results/",
  "belljar://sandboxes/abc/files/",
  "belljar://sandboxes/abc/other/x",
  "belljar://user@sandboxes/abc",
  "belljar://sandboxes/abc#part",
  "belljar://results/%ff",
  `belljar://results/${"a".repeat(9_000)}`,
])("knows no resource %j", (uri) => {
  expect(() => parseUri(uri)).toThrowError(expect.objectContaining({ code: "RESOURCE_NOT_FOUND" }));
});

it("refuses an offset that is no number", () => {
  expect(() => parseUri("belljar://results/0a?offset=-1")).toThrowError(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
});

it("names a file so that it is read as the same file", () => {
  const path = "/home/user/odd ?#%/ü";
  expect(parseUri(fileUri("abc", path.slice(1)))).toEqual({ kind: "file", id: "abc", path });
});
