import { expect, it } from "vitest";
import type { SandboxRecord } from "../sandbox-record.ts";
import { createPortLink } from "../../network/ports/port-link.ts";
import { CLOSED_STATE, firstState, parseState, serialiseState } from "./network-state.ts";

const ID = "a1b2c3d4e5f6g7h8i9j0";
const NPM = { allow: ["npm"] };
const made = (record: Partial<SandboxRecord>) => firstState({ network: NPM, ...record } as SandboxRecord);

it("begins with what the record says, the places inside included", () => {
  expect(made({})).toEqual({ policy: NPM, ceiling: NPM, links: [] });
  expect(made({ networkCeiling: "all", networkInside: "none" })).toEqual({ policy: NPM, ceiling: "all", inside: "none", links: [] });
  expect(made({ networkInside: { allow: ["127.0.0.1:1"] } }).inside).toEqual({ allow: ["127.0.0.1:1"] });
});

it("is read as it was written", () => {
  const state = { ...made({ networkInside: "none" }), links: [createPortLink({ sandbox: ID, port: 80, access: "token" })] };
  expect(parseState(ID, serialiseState(state))).toEqual(state);
});

it("is not written in a form that cannot be read", () => {
  const link = createPortLink({ sandbox: ID, port: 80, access: "token" });
  for (const expiresAt of [new Date(Date.UTC(10_000, 0)), new Date(Number.NaN)])
    expect(() => serialiseState({ ...made({}), links: [{ ...link, expiresAt }] })).toThrow(expect.objectContaining({ code: "INTERNAL" }));
});

it("is closed unless a person says otherwise", () => {
  expect(CLOSED_STATE).toEqual({ policy: "none", ceiling: "none", links: [] });
  expect(parseState(ID, "{")).toBeUndefined();
});
