import { expect, it } from "vitest";
import { INSIDE } from "../../test/support/run-of.ts";
import { parseCreateOptions } from "./create-request.ts";
import { isThisProcess, mayBeInTheMaking } from "./creator.ts";
import { newRecord } from "./new-record.ts";
import { isSandboxId } from "./sandbox-id.ts";
import { parseRecord } from "./sandbox-record.ts";
import { LOCAL } from "./sandbox.ts";

const request = { ...parseCreateOptions({}, { timeoutMs: 5_000 }), network: "none", runtime: "fake", inside: INSIDE } as const;

it("is the principal's, is made by this process now, and ends after its lifetime", () => {
  const record = newRecord({ id: "token:ci", name: "ci" }, request);
  expect(record).toMatchObject({ version: 1, owner: "token:ci", runtime: "fake", timeoutMs: 5_000 });
  expect(record.deadline.getTime() - record.createdAt.getTime()).toBe(5_000);
  expect([isSandboxId(record.id), isThisProcess(record.creator)]).toEqual([true, true]);
  expect(mayBeInTheMaking(record, record.createdAt.getTime())).toBe(true);
  expect(parseRecord(record.id, JSON.stringify(record))).toEqual(record);
  expect(record).not.toHaveProperty("project");
  expect(record).not.toHaveProperty("defaultName");
});

it("belongs to the principal's project, and has the name of the default sandbox that it is", () => {
  const project = { folder: "/srv/a", sees: "own" } as const;
  expect(newRecord({ ...LOCAL, project }, request, "main")).toMatchObject({ project: "/srv/a", defaultName: "main" });
  expect(newRecord({ ...LOCAL, project }, { ...request, project: "/srv/b" })).toMatchObject({ project: "/srv/a" });
  expect(newRecord(LOCAL, request, "")).toMatchObject({ defaultName: "" });
});
