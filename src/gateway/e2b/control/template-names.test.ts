import { expect, it } from "vitest";
import type { Principal } from "../../../sandbox/sandbox.ts";
import { createSandboxId } from "../../../sandbox/sandbox-id.ts";
import { teamOf } from "./team.ts";
import { findName, fromBuildId, fromDomainName, isBase, parseNewName, toBuildId, toDomainName } from "./template-names.ts";

const ANN: Principal = { id: "token:Ann B", name: "Ann B" };

it("the id of a build is a UUID, and the way back is exact", () => {
  for (const id of ["0".repeat(20), "z".repeat(20), ...Array.from({ length: 50 }, createSandboxId)]) {
    expect(toBuildId(id)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect([fromBuildId(toBuildId(id)), fromBuildId(toBuildId(id).toUpperCase())]).toEqual([id, id]);
  }
});

it.each(["", "x", "ffffffff-ffff-8fff-bfff-ffffffffffff", "00000000-0000-4000-8000-000000000000", `${toBuildId("a".repeat(20))}0`])(
  "%s is the id of no build",
  (uuid) => expect(() => fromBuildId(uuid)).toThrow(expect.objectContaining({ code: "TEMPLATE_NOT_FOUND" })),
);

it.each([
  ["one", { name: "one", tag: "default", hasTag: false }],
  [" One:V1.2 ", { name: "one", tag: "v1.2", hasTag: true }],
  ["ann-b/one:default", { name: "one", tag: "default", hasTag: true }],
])("%s is a name, and the home has it by another", (text, parsed) => {
  expect(parseNewName(text, ANN)).toEqual(parsed);
  expect(findName(text, ANN)).toEqual(parsed);
  expect(fromDomainName(toDomainName(parsed))).toEqual({ name: parsed.name, tag: parsed.tag });
});

it.each(["", "a.b", "a b", "-a", "a:", "a:b c", "a:b:c", "x".repeat(64)])("%j is no new name", (text) => {
  expect(() => parseNewName(text, ANN)).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
});

it("another team's name is none, and our own cannot be made", () => {
  expect(findName("bob/one", ANN)).toBeUndefined();
  expect(() => parseNewName("bob/one", ANN)).toThrow(expect.objectContaining({ code: "FORBIDDEN" }));
  for (const name of ["base", "bare", "desktop", "code-interpreter-v1"])
    expect(() => parseNewName(name, ANN)).toThrow(expect.objectContaining({ code: "TEMPLATE_NAME_TAKEN" }));
  expect(["base", "e2bdev/base", "E2BDev/Base:latest", "code-interpreter-v1"].every(isBase)).toBe(true);
  expect(["e2bdev", "database", "other/base", ""].some(isBase)).toBe(false);
});

it("a team is its owner's, whatever the owner is called", () => {
  expect(teamOf(ANN)).toEqual(teamOf({ ...ANN }));
  expect(teamOf(ANN).id).not.toBe(teamOf({ ...ANN, id: "token:ann b" }).id);
  expect(teamOf({ id: "x", name: "" }).slug).toBe("team");
});
