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

it("refuses toolsets that exclude one another", () => {
  expect(parseScopes(["toolset:browser-ii"])).toEqual({ toolsets: ["browser-ii"] });
  const both = ["toolset:browser", "toolset:browser-ii"];
  expect(() => parseScopes(both)).toThrow(
    expect.objectContaining({ code: "ARGUMENTS_INVALID", message: expect.stringContaining("exclude") }),
  );
});

it("describes in the help of the command what it takes", () => {
  const lines = describeScopes().map(([scope, description]) => `  ${scope.padEnd(26)}${description}`);
  expect(SCOPES.split("\n").slice(1)).toEqual(lines);
});

it("grants runtimes by their names", () => {
  expect(parseScopes(["runtime:gvisor", "runtime:namespace"])).toEqual({ runtimes: ["gvisor", "namespace"] });
  for (const name of ["", "a b", "A", "a".repeat(41)]) expect(() => parseScopes([`runtime:${name}`]), name).toThrow(/name of a runtime/);
});

it.each<[scope: string, grants: ReturnType<typeof parseScopes>]>([
  ["read-only", { readOnly: true }],
  ["tools:publish", { publishesTools: true }],
  ["tools:share", { sharesTools: true }],
  ["tools:share-secrets", { sharesToolSecrets: true }],
  ["servers", { managesServers: true }],
  ["server:GitHub: mine", { servers: ["GitHub: mine"] }],
  ["workspaces", { workspaces: [{ path: "/", mode: "rw" }] }],
  ["workspace:/srv/a:ro", { workspaces: [{ path: "/srv/a", mode: "ro" }] }],
  ["max-memory:512m", { limits: { memoryBytes: 512 * 2 ** 20 } }],
  ["max-disk:2g", { limits: { diskBytes: 2 * 2 ** 30 } }],
  ["max-cpus:1.5", { limits: { cpus: 1.5 } }],
  ["max-cpus:.5", { limits: { cpus: 0.5 } }],
  ["max-pids:64", { limits: { pids: 64 } }],
  ["sandboxes:3", { quotas: { sandboxes: 3 } }],
  ["stopped-sandboxes:3", { quotas: { stoppedSandboxes: 3 } }],
  ["snapshots:3", { quotas: { snapshots: 3 } }],
  ["memory:1g", { quotas: { memoryBytes: 2 ** 30 } }],
  ["cpu-seconds:60", { quotas: { cpuSeconds: 60 } }],
  ["calls-per-minute:999999999999999", { quotas: { callsPerMinute: 999_999_999_999_999 } }],
  ["output-per-minute:1m", { quotas: { outputBytesPerMinute: 2 ** 20 } }],
])("%s grants that, and takes nothing of the scopes before it", (scope, grants) => {
  expect(parseScopes([scope])).toEqual(grants);
  const before = { toolsets: ["files"], limits: { pids: 9 }, quotas: { sandboxes: 2 }, runtimes: ["a"], network: "all" };
  expect(parseScopes(["toolset:files", "max-pids:9", "sandboxes:2", "runtime:a", "network:all", scope])).toEqual({
    ...before,
    ...grants,
    limits: { ...before.limits, ...grants.limits, pids: Math.min(9, grants.limits?.pids ?? 9) },
    quotas: { ...before.quotas, ...grants.quotas, sandboxes: Math.min(2, grants.quotas?.sandboxes ?? 2) },
  });
});

it.each([
  ["server:", "the name of an MCP server"],
  [`server:${"a".repeat(201)}`, "the name of an MCP server"],
  ["max-cpus:0", "above 0"],
  ["max-cpus:1234567890123", "above 0"],
  ["max-cpus:1.2345678", "above 0"],
  ["max-cpus:", "above 0"],
  ["max-pids:0", "a whole number above 0"],
  ["max-pids:01", "a whole number above 0"],
  ["max-pids:1.5", "a whole number above 0"],
  ["sandboxes:1000000000000000", "a whole number above 0"],
  ["memory:0", "a size such as"],
  ["workspace:srv", "an absolute path without links"],
  ["network:none:x", "Network rule"],
  ["tools", "There is no scope"],
  ["tools:all", "There is no scope"],
  ["workspaces:/srv", "There is no scope"],
  ["toolset", "There is no scope"],
  ["toolset:Files", "There is no scope"],
  ["toolset:1", "There is no scope"],
  [`toolset:${"a".repeat(41)}`, "There is no scope"],
  ["constructor", "There is no scope"],
])("refuses %s", (scope, why) => {
  expect(() => parseScopes([scope])).toThrow(
    expect.objectContaining({ code: "ARGUMENTS_INVALID", message: expect.stringContaining(why) as string }),
  );
});

it("accepts a folder of 4,096 characters and a toolset of 40", () => {
  const [path, name] = [`/${"a".repeat(4095)}`, "a".repeat(40)];
  expect(parseScopes([`workspace:${path}`, `toolset:${name}`])).toEqual({ workspaces: [{ path, mode: "copy" }], toolsets: [name] });
  expect(() => parseScopes([`workspace:${path}a`])).toThrow(/an absolute path without links/);
});

it("repeats only the beginning of what it refuses", () => {
  const shown = (scope: string) => {
    try {
      return parseScopes([scope]);
    } catch (error) {
      return /"(x+|sandboxes:x+)"/.exec(String(error))?.[1]?.length;
    }
  };
  expect([shown(`sandboxes:${"x".repeat(500)}`), shown("x".repeat(500))]).toEqual([40, 80]);
});
