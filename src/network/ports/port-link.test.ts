import { expect, it } from "vitest";
import { createPortLink } from "./port-link.ts";

const link = (expiresAt: Date) => createPortLink({ sandbox: "a1b2c3d4e5f6g7h8i9j0", port: 80, access: "token", expiresAt });

it("ends at a time that a file can hold, or is not made", () => {
  const last = new Date("9999-12-31T00:00:00Z");
  expect(link(last).expiresAt).toBe(last);
  for (const time of [new Date(Date.UTC(10_000, 0)), new Date(8.64e15), new Date(-8.64e15), new Date(Number.NaN)])
    expect(() => link(time)).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
});
