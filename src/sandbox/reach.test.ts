import { describe, expect, it } from "vitest";
import { mayReach, reachOf } from "./reach.ts";
import type { Principal, Project } from "./sandbox.ts";

const person: Principal = { id: "ada", name: "ada" };
const agent = (folder: string, more: Partial<Project> = {}): Principal => ({ ...person, project: { folder, sees: "own", ...more } });

const CASES: readonly (readonly [string, Principal, Parameters<typeof mayReach>[1], boolean])[] = [
  ["a person, their own of any project", person, { owner: "ada", project: "/p/a" }, true],
  ["a person, somebody else's", person, { owner: "bob" }, false],
  ["an agent, its project's", agent("/p/a"), { owner: "ada", project: "/p/a" }, true],
  ["an agent, another project's", agent("/p/a"), { owner: "ada", project: "/p/b" }, false],
  ["an agent, that of a folder below", agent("/p/a"), { owner: "ada", project: "/p/a/b" }, false],
  ["an agent, one of no project", agent("/p/a"), { owner: "ada" }, false],
  ["an agent, somebody else's of a folder with that name", agent("/p/a"), { owner: "bob", project: "/p/a" }, false],
  [
    "an agent, the named default sandbox of another",
    agent("/p/a", { defaultName: "x" }),
    { owner: "ada", project: "/b", defaultName: "x" },
    true,
  ],
  ["an agent, another's default sandbox", agent("/p/a", { defaultName: "x" }), { owner: "ada", project: "/b", defaultName: "y" }, false],
  ["an agent without a default name, a sandbox without one", agent("/p/a"), { owner: "ada", defaultName: undefined }, false],
  ["an agent that sees all, another project's", agent("/p/a", { sees: "all" }), { owner: "ada", project: "/p/b" }, true],
  ["an agent that sees all, somebody else's", agent("/p/a", { sees: "all" }), { owner: "bob", project: "/p/a" }, false],
];

it.each(CASES)("knows what may be reached: %s", (_case, principal, belonging, may) => {
  expect(mayReach(principal, belonging)).toBe(may);
});

describe("the reach of a principal", () => {
  it("is one for those that reach the same", () => {
    expect(reachOf(agent("/p/a", { sees: "all" }))).toBe(reachOf(person));
    expect(reachOf(agent("/p/a"))).toBe(reachOf(agent("/p/a")));
  });

  it("differs by owner, folder and default name", () => {
    const reaches = [person, { id: "bob", name: "bob" }, agent("/p/a"), agent("/p/b"), agent("/p/a", { defaultName: "x" })].map(reachOf);
    expect(new Set(reaches).size).toBe(reaches.length);
  });
});
