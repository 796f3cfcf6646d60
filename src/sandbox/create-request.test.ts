import { expect, it } from "vitest";
import type { Limits } from "../runtime/contract/sandbox-spec.ts";
import { parseCreateOptions } from "./create-request.ts";

const parse = (limits: Limits) => parseCreateOptions({ limits }, { timeoutMs: 1_000 }).limits;

it.each([
  ["memoryBytes", 16 * 2 ** 20, 2 ** 52, 1],
  ["cpus", 0.01, 4096, 0.001],
  ["pids", 8, 2 ** 22, 1],
  ["diskBytes", 2 ** 20, 2 ** 52, 1],
  ["openFiles", 64, 2 ** 20, 1],
] as const)("takes %s from %d to %d, and nothing beyond", (name, least, most, step) => {
  for (const value of [least, most]) expect(parse({ [name]: value })).toEqual({ [name]: value });
  for (const value of [least - step, most + step])
    expect(() => parse({ [name]: value })).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
});

it("takes part of a CPU, and of nothing else a part", () => {
  expect(parse({ cpus: 1.5 })).toEqual({ cpus: 1.5 });
  expect(() => parse({ pids: 8.5 })).toThrow(/whole number/);
});

it.each(["metadata", "env"] as const)("says that the %s is wrong", (name) => {
  expect(() => parseCreateOptions({ [name]: { "a\0": "" } }, { timeoutMs: 1_000 })).toThrow(`The ${name} of a sandbox`);
});

it("has root unless the maker or the configuration says otherwise, and refuses it where the configuration does", () => {
  const rootOf = (root?: boolean, standard?: boolean) =>
    parseCreateOptions({ ...(root !== undefined && { root }) }, { timeoutMs: 1, ...(standard !== undefined && { root: standard }) }).root;
  expect([rootOf(), rootOf(true), rootOf(undefined, true), rootOf(true, true)]).toEqual([undefined, undefined, undefined, undefined]);
  expect([rootOf(false), rootOf(undefined, false), rootOf(false, true), rootOf(false, false)]).toEqual([false, false, false, false]);
  expect(() => rootOf(true, false)).toThrow(expect.objectContaining({ code: "FORBIDDEN" }));
});
