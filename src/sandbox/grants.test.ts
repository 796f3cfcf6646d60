import { expect, it } from "vitest";
import type { BelljarError } from "../errors.ts";
import type { NetworkPolicy } from "../network/policy.ts";
import type { Workspace } from "../runtime/contract/sandbox-spec.ts";
import {
  assertGranted,
  assertNetworkGranted,
  assertUsableNetwork,
  assertWithoutToken,
  assertWorkspaceGranted,
  cutLimits,
  findUseRefusal,
  hasToolset,
  insideOf,
  policyWithin,
  quotasOf,
  requiredByGrant,
  workspaceWithin,
} from "./grants.ts";
import type { Grants, Principal } from "./sandbox.ts";

const by = (grants?: Grants): Principal => ({ id: "p", name: "p", ...(grants && { grants }) });
const isForbidden = (asked: Promise<void>): Promise<boolean> =>
  asked.then(
    () => false,
    (cause: BelljarError) => cause.code === "FORBIDDEN" || Promise.reject(cause),
  );
function refusalOf(work: () => void): string {
  try {
    work();
    return "";
  } catch (cause) {
    return (cause as Error).message;
  }
}
const forbidden = (message: RegExp) =>
  expect.objectContaining({ code: "FORBIDDEN", message: expect.stringMatching(message) as string }) as Error;
const network = (policy: NetworkPolicy, inside?: NetworkPolicy) => ({ policy, ceiling: policy, links: [], ...(inside && { inside }) });

it("narrows toolsets only where a token names some", () => {
  expect([by(), by({}), by({ toolsets: ["a"] }), by({ toolsets: [] })].map((one) => hasToolset(one, "a"))).toEqual([
    true,
    true,
    true,
    false,
  ]);
});

it("puts a token's quotas before the configuration's", () => {
  expect(quotasOf(by({ quotas: { sandboxes: 1 } }), { sandboxes: 2, cpuSeconds: 3 })).toEqual({ sandboxes: 1, cpuSeconds: 3 });
  expect(quotasOf(by(), { sandboxes: 2 })).toEqual({ sandboxes: 2 });
  expect(quotasOf(by())).toEqual({});
});

it("cuts limits that nobody named to what is granted, and to the memory of all", () => {
  const limits = { memoryBytes: 8, pids: 8, label: "kept" };
  expect(cutLimits(limits, by())).toEqual(limits);
  expect(cutLimits(limits, by({ limits: { pids: 4, cpus: 2 }, quotas: { memoryBytes: 5 } }))).toEqual({
    memoryBytes: 5,
    pids: 4,
    cpus: 2,
    label: "kept",
  });
  expect(cutLimits(limits, by({ limits: { memoryBytes: 9 } }), { memoryBytes: 7 })).toMatchObject({ memoryBytes: 7 });
});

it("refuses a named limit that is larger than the grant, and requires what is granted", () => {
  const principal = by({ limits: { memoryBytes: 4 } });
  expect(() => assertGranted({ memoryBytes: 4, pids: 99 }, principal)).not.toThrow();
  expect(() => assertGranted({}, principal)).not.toThrow();
  expect(() => assertGranted({ memoryBytes: 99 }, by())).not.toThrow();
  expect(() => assertGranted({ memoryBytes: 5 }, principal)).toThrow(forbidden(/memoryBytes of at most 4, not 5/));
  expect(requiredByGrant(principal)).toEqual(["memoryBytes"]);
  expect(requiredByGrant(by())).toEqual([]);
});

it("keeps options that touch what is everybody's from tokens", () => {
  expect(() => assertWithoutToken("nestedFilters", by())).not.toThrow();
  expect(() => assertWithoutToken("nestedFilters", by({}))).toThrow(forbidden(/nestedFilters/));
});

const TEAM = by({
  workspaces: [
    { path: "/srv/a", mode: "ro" },
    { path: "/srv/a/b", mode: "rw" },
    { path: "/srv/c", mode: "copy" },
  ],
});

it.each([
  ["/srv/a", "rw", "ro"],
  ["/srv/a", "copy", "copy"],
  ["/srv/a/x", "rw", "ro"],
  ["/srv/a/b", "rw", "rw"],
  ["/srv/a/b/x", "rw", "rw"],
  ["/srv/c", "ro", "copy"],
  ["/srv/ab", "copy", undefined],
  ["/srv", "copy", undefined],
] as const)("gives the folder %s, wanted as %s, as %s", (path, mode, given) => {
  expect(workspaceWithin({ path, mode }, TEAM)?.mode).toBe(given);
  const refusal = given === mode ? /^$/ : new RegExp(`no scope workspace:${path}:${mode}`);
  expect(refusalOf(() => assertWorkspaceGranted({ path, mode }, TEAM))).toMatch(refusal);
});

it("gives every folder to a caller without grants, and to one with the root", () => {
  const workspace: Workspace = { path: "/etc", mode: "rw" };
  expect(workspaceWithin(workspace, by())).toEqual(workspace);
  expect(workspaceWithin(workspace, by({}))).toBeUndefined();
  expect(workspaceWithin(workspace, by({ workspaces: [{ path: "/", mode: "rw" }] }))).toEqual(workspace);
});

it("lets a token that may only read never write, and says so", () => {
  const reader = by({ readOnly: true, workspaces: [{ path: "/", mode: "rw" }] });
  expect(workspaceWithin({ path: "/a", mode: "rw" }, reader)).toEqual({ path: "/a", mode: "ro" });
  expect(() => assertWorkspaceGranted({ path: "/a", mode: "rw" }, reader)).toThrow(forbidden(/may only read/));
  expect(() => assertWorkspaceGranted({ path: "/a", mode: "ro" }, by({ readOnly: true }))).toThrow(forbidden(/no scope workspace:\/a:ro/));
});

it("narrows a policy that nobody named to the grant", async () => {
  const granted = { allow: ["*.example.com"] };
  expect(await policyWithin("all", by())).toBe("all");
  expect(await policyWithin("all", by({}))).toBe("all");
  expect(await policyWithin("none", by({ network: granted }))).toBe("none");
  expect(await policyWithin("all", by({ network: granted }))).toBe(granted);
  expect(await policyWithin({ allow: ["a.example.com"] }, by({ network: granted }))).toEqual({ allow: ["a.example.com"] });
});

it("lets the rules of a caller without grants lead anywhere, and those of a token where a scope says", () => {
  expect([by(), by({}), by({ network: "all" })].map(insideOf)).toEqual([undefined, "none", "all"]);
});

it.each([
  ["a caller without grants", undefined, "all", true],
  ["a caller without grants", undefined, { allow: ["127.0.0.1:1"] }, true],
  ["a token without a network scope", {}, "all", true],
  ["a token without a network scope", {}, { allow: ["a.test:1"] }, true],
  ["a token without a network scope", {}, { allow: ["10.0.0.1:1"] }, false],
  ["a token for one place", { network: { allow: ["10.0.0.1:1"] } }, { allow: ["10.0.0.1:1"] }, true],
  ["a token for one place", { network: { allow: ["10.0.0.1:1"] } }, { allow: ["10.0.0.1:2"] }, false],
  ["a token for one place", { network: { allow: ["10.0.0.1:1"] } }, "none", true],
  ["a token for one place", { network: { allow: ["10.0.0.1:1"] } }, "all", false],
] as const)("knows whether %s (%j) may name the policy %j: %s", async (_who, grants, policy, may) => {
  const asked = assertNetworkGranted(policy as NetworkPolicy, by(grants as Grants | undefined));
  expect(await isForbidden(asked)).toBe(!may);
});

it.each([
  ["a caller without grants", undefined, network({ allow: ["a.test:1"] }), true],
  ["a token without a network scope", {}, network("none"), true],
  ["a token without a network scope", {}, network("all"), true],
  ["a token without a network scope", {}, network({ allow: ["a.test:1"] }), false],
  ["a token without a network scope", {}, network({ allow: ["a.test:1"] }, "none"), true],
  ["a token for one place", { network: { allow: ["a.test:1"] } }, network({ allow: ["a.test:1"] }), true],
  ["a token for one place", { network: { allow: ["a.test:1"] } }, network("all"), false],
] as const)("knows whether %s (%j) may use a sandbox with %j: %s", async (_who, grants, state, may) => {
  const asked = assertUsableNetwork(state as Parameters<typeof assertUsableNetwork>[0], by(grants as Grants | undefined));
  expect(await isForbidden(asked)).toBe(!may);
});

it("says why a token may not use a sandbox that another token of its owner made", async () => {
  const record = { id: "a1", workspace: { path: "/srv", mode: "rw" } } as const;
  expect(await findUseRefusal(by(), record, network("all"))).toBeUndefined();
  expect(await findUseRefusal(by({}), record, network("none"))).toMatchObject({
    code: "FORBIDDEN",
    message: expect.stringMatching(/^Sandbox a1 was made with more .*workspace:\/srv:rw/) as string,
  });
  const { workspace: _, ...bare } = record;
  expect(await findUseRefusal(by({}), bare, network({ allow: ["a.test:1"] }))).toMatchObject({
    message: expect.stringContaining("network:a.test:1") as string,
  });
  expect(await findUseRefusal(by({}), bare, network("all"))).toBeUndefined();
});
