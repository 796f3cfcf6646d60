import { expect, it } from "vitest";
import { resolveFilePath } from "./file-user.ts";

const user = { name: "root", home: "/root", folder: "/work" };

it.each([
  ["", "/work"],
  ["~", "/root"],
  ["~/a", "/root/a"],
  ["a/./b", "/root/a/b"],
  ["../x", "/x"],
  ["../../../../etc/passwd", "/etc/passwd"],
  ["/a/../b", "/a/../b"],
  ["a~", "/root/a~"],
])("resolves %j to %s", (path, resolved) => {
  expect(resolveFilePath(path, user)).toBe(resolved);
});

it("expands nobody else's home", () => {
  expect(() => resolveFilePath("~other/a", user)).toThrow(expect.objectContaining({ code: "PATH_INVALID" }) as Error);
});
