import { expect, it } from "vitest";
import { expiryOption } from "./expiry-option.ts";
import { findCommand } from "./find-command.ts";

const ask = (expires: string) => expiryOption({ spec: findCommand(["token", "create"]), positionals: [], rest: [], options: { expires } });

it("takes ten years at most", () => {
  expect(ask("3650d")).toBeInstanceOf(Date);
  for (const text of ["3651d", "9999999d", "99999999d"])
    expect(() => ask(text)).toThrow(expect.objectContaining({ code: "USAGE", message: expect.stringContaining("3650d") }));
});
