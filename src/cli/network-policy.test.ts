import { describe, expect, it } from "vitest";
import { loadConfig } from "../config/config.ts";
import { configuredPolicy } from "./compose/configured-policy.ts";
import { editPolicy } from "./network-policy.ts";

const nothing = { allow: [], deny: [] };
const RULES = { allow: ["npm", "api.example.com"] };

describe("editPolicy", () => {
  it("changes nothing without an edit", () => {
    expect(editPolicy(RULES, nothing)).toBeUndefined();
  });

  it.each([
    ["sets none", { ...nothing, set: "none" }, "none"],
    ["sets all", { ...nothing, set: "all" }, "all"],
    ["sets rules", { ...nothing, set: "pypi, Example.COM" }, { allow: ["pypi", "example.com"] }],
    [
      "adds rules, each once",
      { ...nothing, allow: ["pypi,npm", "b.example.com:8443"] },
      { allow: ["npm", "api.example.com", "pypi", "b.example.com:8443"] },
    ],
    ["takes rules away, however they are written", { ...nothing, deny: ["API.example.com"] }, { allow: ["npm"] }],
    ["makes none of no rules", { ...nothing, deny: ["npm,api.example.com"] }, "none"],
    ["adds to what it sets", { set: "none", allow: ["github"], deny: [] }, { allow: ["github"] }],
  ])("%s", (_, edit, policy) => {
    expect(editPolicy(RULES, edit)).toEqual(policy);
  });

  it.each([
    ["a rule of a policy that is all", "all" as const, { ...nothing, deny: ["npm"] }, "give a policy with rules instead"],
    ["a rule that is not there", RULES, { ...nothing, deny: ["pypi"] }, '"pypi" is not a rule of the policy'],
    ["all as a rule", RULES, { ...nothing, allow: ["all"] }, "all is not a rule"],
  ])("refuses %s", (_, current, edit, message) => {
    expect(() => editPolicy(current, edit)).toThrow(expect.objectContaining({ code: "USAGE", message: expect.stringContaining(message) }));
  });
});

describe("configuredPolicy", () => {
  const load = (env: Record<string, string>) => loadConfig({ env: { BELLJAR_HOME: "/nowhere", ...env } });

  it("is none by default", async () => {
    expect(await configuredPolicy(load({}), "sandbox")).toBe("none");
    expect(await configuredPolicy(load({ BELLJAR_PROGRAM_NETWORK: "npm" }), "program")).toEqual({ allow: ["npm"] });
  });

  it("names the setting of an invalid rule", async () => {
    await expect(configuredPolicy(load({ BELLJAR_SANDBOX_NETWORK: "*.com" }), "sandbox")).rejects.toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining("BELLJAR_SANDBOX_NETWORK") }),
    );
  });
});
