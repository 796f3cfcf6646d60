import { expect, it } from "vitest";
import type { NetworkPolicy } from "../../network/policy.ts";
import { isPlaceholder } from "../../network/secrets/placeholder.ts";
import type { SecretStore } from "../../secrets/secret-store.ts";
import type { CreateOptions } from "../sandbox.ts";
import { LOCAL } from "../sandbox.ts";
import { prepareSecrets } from "./prepare-secrets.ts";

/** A store in which the local user has `token`, and somebody else `other`. */
const store = {
  list: async (owner: string) => [{ name: owner === LOCAL.id ? "token" : "other", changedAt: new Date(0) }],
} as Partial<SecretStore> as SecretStore;

const use = (secret: string, ...hosts: readonly string[]) => ({ secret, hosts });
const prepare = (options: CreateOptions, network: NetworkPolicy = "all", from: SecretStore | undefined = store) =>
  prepareSecrets({ principal: LOCAL, network, store: from }, options);
const refused = (code: string, words: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(words) as string }) as Error;

it("gives each variable a placeholder of its own", async () => {
  const secrets = { A: use("token", "api.example.com"), B: use("token", "api.example.com:8443") };
  const prepared = await prepare({ secrets, env: { C: "1" } });
  expect(prepared.secrets).toEqual(secrets);
  const { A = "", B = "" } = prepared.placeholders;
  expect([isPlaceholder(A), isPlaceholder(B), A === B]).toEqual([true, true, false]);
});

it("refuses a variable that has a value too", async () => {
  const options = { secrets: { A: use("token", "a.example") }, env: { A: "" } };
  await expect(prepare(options)).rejects.toThrow(refused("ARGUMENTS_INVALID", "The variable A is given twice"));
});

it.each<readonly [NetworkPolicy, string]>([
  ["all", "a.example"],
  [{ allow: ["a.example"] }, "a.example"],
  [{ allow: ["https://a.example"] }, "a.example"],
  [{ allow: ["a.example:8443"] }, "a.example:8443"],
])("lets the policy %j have a secret of %s", async (policy, host) => {
  expect((await prepare({ secrets: { A: use("token", host) } }, policy)).secrets).toHaveProperty("A");
});

it.each<readonly [NetworkPolicy, string, string]>([
  ["none", "a.example", "does not allow: add the rule https://a.example"],
  [{ allow: ["b.example"] }, "a.example", "policy b.example does not allow: add the rule https://a.example"],
  [{ allow: ["http://a.example"] }, "a.example", "add the rule https://a.example"],
  [{ allow: ["a.example"] }, "a.example:8443", "add the rule https://a.example:8443"],
])("refuses to let the policy %j have a secret of %s", async (policy, host, words) => {
  await expect(prepare({ secrets: { A: use("token", host) } }, policy)).rejects.toThrow(refused("ARGUMENTS_INVALID", words));
});

it("refuses a secret that the owner does not have, though somebody else has it", async () => {
  const wish = (name: string) => prepare({ secrets: { A: use("token", "a.example"), B: use(name, "a.example") } });
  for (const name of ["gone", "other"]) await expect(wish(name)).rejects.toThrow(refused("SECRET_NOT_FOUND", `No secret ${name}`));
});

it("refuses secrets in a process that has none", async () => {
  const wish = prepareSecrets({ principal: LOCAL, network: "all", store: undefined }, { secrets: { A: use("token", "a.example") } });
  await expect(wish).rejects.toThrow(refused("NOT_SUPPORTED", "This process has no secrets"));
});
