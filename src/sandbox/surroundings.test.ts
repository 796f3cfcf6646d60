import { expect, it } from "vitest";
import type { SandboxInfo } from "./sandbox.ts";
import { findHostHint, introduce, tellSurroundings } from "./surroundings.ts";

const path = "/home/ada/project";
const sandbox = (info: Partial<SandboxInfo>) => ({ info: async () => info as SandboxInfo });

it.each([
  ["copy", `/home/user is a copy of ${path}. Your changes stay here until the person runs \`belljar apply\` in that folder.`],
  ["ro", `/home/user is ${path} of the host, read-only.`],
  ["rw", `/home/user is the real folder ${path} of the host. Your changes are made there at once.`],
] as const)("says what a workspace of the mode %s is", async (mode, text) => {
  const lines = await introduce(sandbox({ shortId: "abcdefgh", network: "none", workspace: { path, mode } }));
  expect(lines).toEqual([`Files: ${text}`, "Network: nothing can be reached."]);
});

it("says what the network allows, and no more than twenty rules of it", () => {
  const network = (policy: SandboxInfo["network"]) => tellSurroundings(undefined, policy)[1];
  expect(network("all")).toBe("Network: the public Internet can be reached.");
  expect(network({ allow: ["npm", "a.test:8080"] })).toBe("Network: only this can be reached: npm, a.test:8080.");
  const many = network({ allow: Array.from({ length: 30 }, (_, index) => `h${index}.test`) });
  expect(many).toMatch(/h19\.test, and 10 more rules\.$/);
});

it("says nothing of a sandbox that does not answer", async () => {
  expect(await introduce({ info: () => Promise.reject(new Error("silent")) })).toEqual([]);
});

const copy = { workspace: { path, mode: "copy" } } as const;
it.each([
  ["below the workspace", copy, { path: `${path}/src/a.ts` }, `${path} of the host is /home/user here: use /home/user/src/a.ts`],
  ["the workspace, as cwd", copy, { command: "ls", cwd: path }, `${path} of the host is /home/user here: use /home/user`],
  ["elsewhere on the host", copy, { path: "/Users/ada/a" }, `It looks like a path of the host, of which this sandbox has only ${path}, as`],
  ["of a drive", {}, { path: "C:\\Users\\ada" }, "It looks like a path of the host, of which this sandbox has no folder: a person"],
  ["in a list", copy, { paths: ["a", "/home/eve/b"] }, "It looks like a path of the host"],
  ["below the project", { project: "/work/p" }, { path: "/work/p/a" }, "It looks like a path of the host"],
] as const)("advises about a path of the host: %s", async (_where, info, args, hint) => {
  const named = Object.values<string | readonly string[]>(args).flat().join(" ");
  expect(await findHostHint(sandbox(info), args, `No such file: ${named}`)).toContain(hint);
});

it.each([
  ["of the sandbox", { path: "/home/user/a" }],
  ["at the link to the workspace", { path: "/workspace/a" }],
  ["of the system", { path: "/etc/nothing" }],
  ["that is relative", { path: "a/b" }],
  ["that begins like the workspace", { path: "/srv2/a" }],
  ["that the failure is not about", { content: "/home/eve", path: "missing" }],
] as const)("says nothing about a path %s", async (_where, args) => {
  expect(await findHostHint(sandbox(copy), args, `No such file: ${args.path}`)).toBeUndefined();
});
