import { expect, it } from "vitest";
import { toWish } from "./requirements.ts";

it.each([
  "requests",
  "requests>=2.31,<3",
  "requests[socks, security] ~= 2.31",
  "ruamel.yaml==0.18.*",
  'tomli ; python_version < "3.11"',
  "pkg===1.0+local",
])("takes %j for a requirement of pip", (text) => {
  expect(toWish("pip", [text], false).requirements).toEqual([text]);
});

it.each([
  "",
  "--index-url=http://evil.test",
  "-r other.txt",
  "./folder",
  "../folder",
  "/etc/passwd",
  "file:///etc",
  "pkg @ https://evil.test/pkg.whl",
  "git+https://evil.test/pkg",
  "pkg-1.0-py3-none-any.whl",
  "pkg.tar.gz",
  "pkg; $(id)",
  "pkg\n--pre",
  "pkg --hash=sha256:00",
  "pkg >",
])("takes %j for none", (text) => {
  expect(() => toWish("pip", [text], false)).toThrow(expect.objectContaining({ code: "TOOL_INVALID" }));
});

it.each(["zod", "zod@^4", "@scope/name@1.x || >=2", "zod@latest"])("takes %j for a requirement of npm", (text) => {
  expect(toWish("npm", [text], false).requirements).toEqual([text]);
});

it.each(["--registry=http://evil.test", "../x", "a/b", "x@file:../y", "x@npm:other", "https://evil.test/x.tgz", "x.tgz", "git@host:x"])(
  "takes %j for none of npm",
  (text) => {
    expect(() => toWish("npm", [text], false)).toThrow(expect.objectContaining({ code: "TOOL_INVALID" }));
  },
);

it("makes one wish of the same requirements in any order", () => {
  expect(toWish("pip", ["b", " a", "b"], false)).toEqual(toWish("pip", ["a", "b"], false));
});
