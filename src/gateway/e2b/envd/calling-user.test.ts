import { expect, it } from "vitest";
import { callingUser } from "./calling-user.ts";

const asked = (authorization: string) => ({ headers: { authorization } });
const named = (text: string) => asked(`Basic ${Buffer.from(text).toString("base64")}`);

it("reads the user of a basic authorization; who names none is the sandbox's own", () => {
  expect(["root:", "root", "a:b:c", ":", ""].map((text) => callingUser(named(text)))).toEqual(["root", "root", "a", undefined, undefined]);
  for (const other of [{ headers: {} }, asked("Bearer cm9vdDo="), asked("Basic \u0000")]) expect(callingUser(other)).toBeUndefined();
});

it("refuses what names no account, before a sandbox hears of it", () => {
  for (const text of ["0", "a/b", "a b", "a\n", "-x", "x".repeat(65)])
    expect(() => callingUser(named(text)), text).toThrow(expect.objectContaining({ code: "UNAUTHORIZED" }) as Error);
});
