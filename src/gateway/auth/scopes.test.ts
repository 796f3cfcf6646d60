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

it("takes the least of a limit that is named twice", () => {
  expect(parseScopes(["sandboxes:3", "sandboxes:9", "max-memory:2g", "max-memory:1g"])).toEqual({
    limits: { memoryBytes: 2 ** 30 },
    quotas: { sandboxes: 3 },
  });
});

it("takes folders as they are, and in no other spelling", () => {
  expect(parseScopes(["workspace:/srv/a", "workspace:/srv/b c:rw", "workspace:/srv/d:x"])).toEqual({
    workspaces: [
      { path: "/srv/a", mode: "copy" },
      { path: "/srv/b c", mode: "rw" },
      { path: "/srv/d:x", mode: "copy" },
    ],
  });
  for (const folder of ["", "srv", "./srv", "/", "//srv", "/srv/", "/srv/../etc", "/srv//a", "/srv/.", ":rw", "/srv\0x"])
    expect(() => parseScopes([`workspace:${folder}`]), folder).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
});

it("leaves out what is not named once something is", () => {
  expect(parseScopes(["metrics"])).toEqual({ toolsets: [], areas: ["metrics"] });
  expect(parseScopes(["secrets", "toolset:files", "settings"])).toEqual({ toolsets: ["files"], areas: ["secrets", "settings"] });
});

it("grants nothing beyond the rest for a network of none", () => {
  expect(parseScopes(["network:none"])).toEqual({ network: "none" });
  expect(parseScopes(["network:none", "network:npm"])).toEqual({ network: { allow: ["npm"] } });
});

it("lets a network of all outdo what is named beside it, and one of none take nothing back", () => {
  expect(parseScopes(["network:all", "network:npm"])).toEqual({ network: "all" });
  expect(parseScopes(["network:npm", "network:all"])).toEqual({ network: "all" });
  expect(parseScopes(["network:all", "network:none"])).toEqual({ network: "all" });
  expect(parseScopes(["network:npm", "network:none"])).toEqual({ network: { allow: ["npm"] } });
});

it("describes in the help of the command what it takes", () => {
  const lines = describeScopes().map(([scope, description]) => `  ${scope.padEnd(26)}${description}`);
  expect(SCOPES.split("\n").slice(1)).toEqual(lines);
});

it("grants runtimes by their names", () => {
  expect(parseScopes(["runtime:gvisor", "runtime:namespace"])).toEqual({ runtimes: ["gvisor", "namespace"] });
  for (const name of ["", "a b", "A", "a".repeat(41)]) expect(() => parseScopes([`runtime:${name}`]), name).toThrow(/name of a runtime/);
});
