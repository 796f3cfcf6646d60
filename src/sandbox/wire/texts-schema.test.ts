import { expect, it } from "vitest";
import { createOptionsSchema } from "./create-schema.ts";
import { parseCreateOptions } from "../create-request.ts";
import { listQuery } from "../../gateway/routes/sandbox-schemas.ts";
import { createSandboxCreate } from "../../tools/sandbox/sandbox-create.ts";
import { createNoSandboxes } from "../../../test/support/no-sandboxes.ts";

const CREATE = createSandboxCreate(createNoSandboxes());

/** Whether each place that takes labels takes these. */
function taken(metadata: Readonly<Record<string, string>>): readonly boolean[] {
  const query = Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value]));
  let isParsed = true;
  try {
    parseCreateOptions({ metadata }, { timeoutMs: 1_000 });
  } catch {
    isParsed = false;
  }
  return [
    createOptionsSchema.safeParse({ metadata }).success,
    listQuery.safeParse(query).success,
    "value" in CREATE.input.parse({ metadata }),
    isParsed,
  ];
}

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, ""]));

it.each([
  ["a name of 128 characters", { ["n".repeat(128)]: "x" }, true],
  ["a name of 129 characters", { ["n".repeat(129)]: "x" }, false],
  ["no name", { "": "x" }, false],
  ["a value of 60,000 characters", { job: "x".repeat(60_000) }, true],
  ["65,537 bytes", { job: "€".repeat(21_845) }, false],
  ["256 entries", many(256), true],
  ["257 entries", many(257), false],
  ["a NUL in a value", { job: "a\0b" }, false],
  ["a NUL in a name", { "a\0b": "x" }, false],
])("labels with %s are taken everywhere, or nowhere", (_what, labels, isTaken) => {
  expect(taken(labels)).toEqual([isTaken, isTaken, isTaken, isTaken]);
});
