import { expect, it } from "vitest";
import { type Grants, LOCAL, type Principal } from "../../sandbox/sandbox.ts";
import { networkGrantee, type OwnerGrants } from "./owner-rights.ts";

const [A, B] = [{ allow: ["a.test:443"] }, { allow: ["b.test:443"] }] as const;
const BOTH = { allow: ["a.test:443", "b.test:443"] } as const;
const caller: Principal = { id: "token:bob", name: "bob", grants: { network: "none" } };
const having = (...all: Grants[]): OwnerGrants => ({ of: async () => all });
const ofAlice = (owners: OwnerGrants, network: "none" | "all" | { readonly allow: readonly string[] }) =>
  networkGrantee(owners, caller, { owner: "token:alice", network });

it("takes any one token of the owner that allows the network, whatever the caller's allows", async () => {
  expect(await ofAlice(having({ network: A }, { network: B }), B)).toEqual({ grants: { network: B } });
  expect(await ofAlice(having({}), "all")).toEqual({ grants: {} });
});

it("adds no tokens up", async () => {
  await expect(ofAlice(having({ network: A }, { network: B }), BOTH)).rejects.toMatchObject({ code: "TOOL_CLOSED" });
});

it("needs a scope for a place that is not of the public Internet", async () => {
  const inside = { allow: ["10.0.0.1:80"] };
  await expect(ofAlice(having({}), inside)).rejects.toMatchObject({ code: "TOOL_CLOSED" });
  expect(await ofAlice(having({ network: inside }), inside)).toEqual({ grants: { network: inside } });
});

it("refuses a tool without a network too whose owner has no token", async () => {
  await expect(ofAlice(having(), "none")).rejects.toMatchObject({ code: "TOOL_CLOSED" });
});

it("asks for nobody's tokens in a tool of the caller's own, and of the local user's", async () => {
  const unasked: OwnerGrants = { of: () => expect.unreachable() };
  expect(await networkGrantee(unasked, caller, { owner: caller.id, network: "all" })).toBe(caller);
  expect(await networkGrantee(unasked, caller, { owner: LOCAL.id, network: "all" })).toBe(LOCAL);
  const narrow: Principal = { ...LOCAL, grants: { network: "none" } };
  expect(await networkGrantee(unasked, narrow, { owner: LOCAL.id, network: "all" })).toBe(narrow);
});
