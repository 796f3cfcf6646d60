import { expect, it } from "vitest";
import { basicUserOf } from "./call-place.ts";
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

it("reads the user of a basic authorization", () => {
  const of = (text: string): string | undefined => basicUserOf({ authorization: `Basic ${Buffer.from(text).toString("base64")}` });
  expect([of("root:"), of("root"), of(":"), of("a:b:c")]).toEqual(["root", "root", "", "a"]);
  expect([basicUserOf({}), basicUserOf({ authorization: "Bearer cm9vdDo=" }), basicUserOf({ authorization: "Basic \u0000" })]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
