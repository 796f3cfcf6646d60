import { expect, it } from "vitest";
import { fullSample } from "../../../test/support/full-sample.ts";
import { sandboxSchema } from "../../sandbox/wire/sandbox-schema.ts";
import { toDetail } from "./details.ts";

const wire = fullSample(sandboxSchema);

it("shows every field of a sandbox but its owner", () => {
  const shown = Object.values(toDetail(sandboxSchema.parse(wire)));
  const { owner: _hidden, ...rest } = wire;
  expect(shown).toEqual(expect.arrayContaining(Object.values(rest)));
  expect(shown).toHaveLength(Object.keys(rest).length);
});

it("shows null for what a sandbox does not have", () => {
  const { deadline: _none, ...rest } = sandboxSchema.parse(wire);
  expect(toDetail(rest)).toMatchObject({ deadline: null, created_at: "2026-01-02T03:04:05.678Z", default_name: "text" });
});
