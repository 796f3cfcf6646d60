import { expect, it } from "vitest";
import { callingUser } from "./calling-user.ts";

const of = (authorization?: string): string | undefined => callingUser({ headers: authorization === undefined ? {} : { authorization } });
const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;

it("reads the account of a basic authorization, whatever its password", () => {
  expect([of(basic("root:")), of(basic("root")), of(basic("a:b:c"))]).toEqual(["root", "root", "a"]);
  expect([of(), of(basic(":")), of("Bearer cm9vdDo="), of("Basic \u0000")]).toEqual([undefined, undefined, undefined, undefined]);
});

it("refuses what is no name of an account", () => {
  for (const name of ["0", "0:0", "a/b", "../root", "a b", `a${"b".repeat(64)}`].filter((one) => !one.includes(":")))
    expect(() => of(basic(name)), name).toThrow(expect.objectContaining({ code: "UNAUTHORIZED" }) as Error);
});
