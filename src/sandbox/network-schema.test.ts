import { expect, it } from "vitest";
import { networkPolicySchema, secretUsesSchema } from "./network-schema.ts";

it.each(["none", "all", { allow: [] }, { allow: ["api.example.com"] }])("takes the policy %j", (policy) => {
  expect(networkPolicySchema.parse(policy)).toEqual(policy);
});

it.each(["", "some", { allow: [""] }, { allow: ["a".repeat(1_025)] }, { allow: Array(1_001).fill("a") }, { allow: [], deny: [] }])(
  "refuses the policy %#",
  (policy) => {
    expect(networkPolicySchema.safeParse(policy).success).toBe(false);
  },
);

const uses = (host: string, hosts = 1) => ({ KEY: { secret: "a", hosts: Array<string>(hosts).fill(host) } });

it("bounds the hosts of a secret", () => {
  expect(secretUsesSchema.safeParse(uses("a".repeat(300), 64)).success).toBe(true);
  expect(secretUsesSchema.safeParse(uses("a".repeat(301))).success).toBe(false);
  expect(secretUsesSchema.safeParse(uses("a", 65)).success).toBe(false);
  expect(secretUsesSchema.safeParse(uses("a", 0)).success).toBe(false);
});
