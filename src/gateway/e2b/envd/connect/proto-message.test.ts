import { expect, it } from "vitest";
import * as z from "zod";
import { protoMessage } from "./proto-message.ts";

const message = protoMessage({ includeEntry: z.boolean().optional(), envs: z.record(z.string(), z.string()).optional() });

it("takes names with underscores and leaves null and unknown names out", () => {
  expect(message.parse({ include_entry: true, envs: null, other: 1 })).toEqual({ includeEntry: true });
  expect(message.parse({ includeEntry: false })).toEqual({ includeEntry: false });
});

it("leaves the names in a map as they are", () => {
  expect(message.parse({ envs: { MY_NAME: "a", include_entry: "b" } })).toEqual({ envs: { MY_NAME: "a", include_entry: "b" } });
});

it.each([[[]], ["text"], [null]])("refuses %j", (value) => {
  expect(message.safeParse(value).success).toBe(false);
});
