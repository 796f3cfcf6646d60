import { expect, it } from "vitest";
import { SCOPES } from "../../cli/command-specs/token.ts";
import { describeScopes, parseScopes } from "./scopes.ts";

it("adds up scopes of one kind", () => {
  const scopes = ["toolset:files", "toolset:shell", "network:npm", "network:api.example.com:443", "max-memory:512m", "sandboxes:3"];
  expect(parseScopes(scopes)).toEqual({
    toolsets: ["files", "shell"],
    network: { allow: ["npm", "api.example.com:443"] },
    limits: { memoryBytes: 512 * 2 ** 20 },
    quotas: { sandboxes: 3 },
  });
});

it("grants nothing beyond the rest for a network of none", () => {
  expect(parseScopes(["network:none"])).toEqual({ network: "none" });
  expect(parseScopes(["network:none", "network:npm"])).toEqual({ network: { allow: ["npm"] } });
});

it("describes in the help of the command what it takes", () => {
  const lines = describeScopes().map(([scope, description]) => `  ${scope.padEnd(26)}${description}`);
  expect(SCOPES.split("\n").slice(1)).toEqual(lines);
});
