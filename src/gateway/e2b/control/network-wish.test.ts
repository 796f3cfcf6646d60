import { describe, expect, it } from "vitest";
import type { BelljarError } from "../../../errors.ts";
import type { NetworkPolicy } from "../../../network/policy.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import { toEgress, toPolicy, type NetworkWish } from "./network-wish.ts";

const ALL = "0.0.0.0/0";

function by(network?: NetworkPolicy): Principal {
  return { id: "token:a", name: "a", grants: network === undefined ? {} : { network } };
}

const policyOf = (wish: NetworkWish, caller = by(), network: NetworkPolicy = "all"): Promise<NetworkPolicy> =>
  toPolicy(wish, { network }, caller);

async function refusalOf(wish: NetworkWish): Promise<string> {
  const policy = policyOf(wish, by("all"));
  const cause = await policy.then(
    (taken) => new Error(`It was taken: ${JSON.stringify(taken)}`),
    (error: BelljarError) => error,
  );
  return "code" in cause ? `${cause.code} ${cause.message}` : cause.message;
}

describe("the network that a client of E2B asks for", () => {
  it.each<[string, NetworkWish]>([
    ["nothing", {}],
    ["the Internet, as earlier clients always say", { allow_internet_access: true }],
    ["an address, and denies nothing", { allowOut: ["1.1.1.1"] }],
    ["everything in so many words", { allowOut: [ALL], denyOut: [ALL] }],
    ["hosts without a transform", { rules: { "example.com": [{}] } }],
    ["null for all", { allowOut: null, denyOut: null, egressProxy: null, rules: null, allow_internet_access: null }],
  ])("is the configuration's if it says %s", async (_what, wish) => {
    expect(await policyOf(wish)).toBe("all");
    expect(await policyOf(wish, by(), { allow: ["npm"] })).toEqual({ allow: ["npm"] });
    expect(await policyOf(wish, by("all"), "none")).toBe("none");
    expect(await policyOf(wish, by({ allow: ["pypi"] }))).toEqual({ allow: ["pypi"] });
    expect(await policyOf(wish, by("none"))).toBe("none");
  });

  it("has no place inside, though the token was granted some", async () => {
    expect(await policyOf({}, by({ allow: ["10.0.0.5:5432", "example.com", "db:5432"] }))).toEqual({ allow: ["example.com"] });
    expect(await policyOf({}, by({ allow: ["127.0.0.1:80"] }))).toBe("none");
  });

  it.each<[string, NetworkWish, NetworkPolicy]>([
    ["all traffic", { denyOut: [ALL] }, "none"],
    ["all traffic of both kinds", { denyOut: [ALL, "::/0"] }, "none"],
    ["the Internet", { allow_internet_access: false }, "none"],
    ["all but a host", { denyOut: [ALL], allowOut: ["Example.com"] }, { allow: ["example.com"] }],
    ["the Internet but what is below a host", { allow_internet_access: false, allowOut: ["*.example.com"] }, { allow: ["*.example.com"] }],
    [
      "all but addresses",
      { denyOut: [ALL], allowOut: ["1.1.1.1", "8.8.8.8/32", "2606:4700::1111"] },
      { allow: ["1.1.1.1", "8.8.8.8", "[2606:4700::1111]"] },
    ],
  ])("is closed if it denies %s", async (_what, wish, policy) => {
    expect(await policyOf(wish)).toEqual(policy);
  });

  it.each<[string, NetworkWish, RegExp]>([
    ["a part of the Internet", { denyOut: ["8.8.8.8"] }, /^NOT_SUPPORTED .*denyOut with "8\.8\.8\.8"/],
    ["a part beside all", { denyOut: [ALL, "8.8.8.0/24"] }, /^NOT_SUPPORTED .*denyOut with "8\.8\.8\.0\/24"/],
    ["one kind of addresses", { denyOut: ["::/0"] }, /^NOT_SUPPORTED .*denyOut/],
    ["a name", { denyOut: ["example.com"] }, /^NOT_SUPPORTED .*denyOut/],
  ])("cannot deny %s", async (_what, wish, refusal) => {
    expect(await refusalOf(wish)).toMatch(refusal);
  });

  it("allows hosts only where all else is denied, in E2B's words", async () => {
    expect(await refusalOf({ allowOut: ["example.com"] })).toBe(
      "ARGUMENTS_INVALID When specifying allowed domains in allow out, you must include 'ALL_TRAFFIC' in deny out to block all other traffic.",
    );
  });

  it.each([
    ["10.0.0.1", /no address of the public/],
    ["127.0.0.1", /no address of the public/],
    ["2130706433", /no address of the public/],
    ["0x7f.1", /no address of the public/],
    ["169.254.169.254", /no address of the public/],
    ["100.100.100.200/32", /no address of the public/],
    ["::1", /no address of the public/],
    ["::ffff:10.0.0.1", /no address of the public/],
    ["64:ff9b::a00:1", /no address of the public/],
    ["fd00:ec2::254", /no address of the public/],
    ["*.1.1.1.1", /no address of the public/],
    ["1.1.1.0/24", /NOT_SUPPORTED .*range/],
    ["2606:4700::/32", /./],
    ["localhost", /names no host/],
    ["npm", /names no host/],
    ["github", /names no host/],
    ["example.com:5432", /names no host/],
    ["10.0.0.1:5432", /names no host/],
    ["https://example.com", /names no host/],
    ["example.com/path", /names no host/],
    ["GET example.com", /names no host/],
    ["a.example.com,b.example.com", /names no host/],
    ["*.com", /names no host/],
    ["*.co.uk", /anybody can register/],
    ["*.*.example.com", /names no host/],
    ["", /names no host/],
  ])("never has %s, whatever the token may reach", async (place, refusal) => {
    expect(await refusalOf({ denyOut: [ALL], allowOut: [place] })).toMatch(refusal);
  });

  it.each<[string, NetworkWish]>([
    ["a proxy", { egressProxy: { address: "proxy.example.com:1080" } }],
    ["headers that are added", { rules: { "api.example.com": [{}, { transform: { headers: { "x-key": "k" } } }] } }],
  ])("has no %s, and says so", async (_what, wish) => {
    expect(await refusalOf(wish)).toMatch(/^NOT_SUPPORTED This server cannot keep/);
  });

  it("is told as clients wrote it", () => {
    expect(toEgress("all")).toEqual({});
    expect(toEgress("none")).toEqual({ denyOut: [ALL] });
    expect(toEgress({ allow: ["*.example.com", "[2606:4700::1111]"] })).toEqual({
      allowOut: ["*.example.com", "2606:4700::1111"],
      denyOut: [ALL],
    });
  });
});
