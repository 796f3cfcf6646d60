import { expect, it } from "vitest";
import { runOf } from "../../test/support/run-of.ts";
import { sandboxRecord } from "../../test/support/sandbox-record.ts";
import { toSpec } from "./to-spec.ts";

const ID = "a1b2c3d4e5f6g7h8i9j0";
const run = runOf(ID, "/home/ada/.belljar/sandboxes/a", 2);
const wishes = { deadline: new Date(1), deadlineAction: "stop" } as const;

it("asks for no more than the record says", () => {
  expect(toSpec(run, sandboxRecord({ id: ID }), wishes)).toEqual({
    ...run,
    base: { template: "base" },
    hostname: ID,
    limits: {},
    required: [],
    ephemeral: false,
    ...wishes,
  });
});

it("asks for all that the record says", () => {
  const workspace = { path: "/srv/a", mode: "ro" } as const;
  const record = sandboxRecord({
    id: ID,
    template: "other",
    limits: { pids: 5 },
    ephemeral: true,
    workspace,
    nestedFilters: true,
    root: false,
  });
  expect(toSpec(run, record, wishes)).toMatchObject({
    base: { template: "other" },
    limits: { pids: 5 },
    ephemeral: true,
    workspace,
    nestedFilters: true,
    root: false,
  });
});

it("leaves root as it is where the record allows it", () => {
  expect(toSpec(run, sandboxRecord({ id: ID, root: true }), wishes)).not.toHaveProperty("root");
});

it("needs the limits that every run must have, and those that this one must have, each once", () => {
  const record = sandboxRecord({ id: ID, required: ["pids", "cpus"] });
  expect(toSpec(run, record, { ...wishes, required: ["cpus", "memoryBytes"] }).required).toEqual(["pids", "cpus", "memoryBytes"]);
});
