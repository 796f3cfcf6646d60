import * as z from "zod";
import { expect, it } from "vitest";
import { fullSample } from "../../../test/support/full-sample.ts";
import { toSandboxInfo } from "../sandbox-info.ts";
import { parseRecord } from "../sandbox-record.ts";
import { dateField } from "./fields.ts";
import { madeFields, sandboxSchema } from "./sandbox-schema.ts";

const REST = {
  version: 1,
  creator: { pid: 1, startedMs: 1 },
  deadline: "2026-01-02T03:04:05.678Z",
  timeoutMs: 1,
  network: "none",
  env: {},
  inside: { env: {}, home: "/home/user", workspace: "/home/user", cwd: "/home/user" },
  ephemeral: false,
  required: [],
};

it("shows each field of a record that every answer has", () => {
  const written = fullSample(z.object(madeFields));
  const record = parseRecord(written.id, JSON.stringify({ ...REST, ...written }));
  if (!record) throw new TypeError("The record cannot be read");
  const info = toSandboxInfo(record, { life: { reason: "killed", at: new Date(0) }, enforced: [] });
  expect(JSON.parse(JSON.stringify(info))).toMatchObject(written);
  expect(JSON.parse(JSON.stringify(record))).toEqual({ ...REST, ...written });
});

it("reads what it wrote", () => {
  const wire = fullSample(sandboxSchema);
  expect(Object.keys(wire).toSorted()).toEqual(Object.keys(sandboxSchema.shape).toSorted());
  expect(z.encode(sandboxSchema, sandboxSchema.parse(wire))).toEqual(wire);
});

it("has dates in this process and ISO 8601 in UTC on the wire", () => {
  expect(dateField.parse("2026-01-02T03:04:05.678Z")).toEqual(new Date(1_767_323_045_678));
  expect(z.encode(dateField, new Date(1_767_323_045_678))).toBe("2026-01-02T03:04:05.678Z");
  for (const text of ["2026-01-02", "2026-01-02T03:04:05+01:00", "1767323045678", 1_767_323_045_678, ""])
    expect(dateField.safeParse(text).success, String(text)).toBe(false);
});
