import { expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import type { Guest, Sandbox, SandboxInfo } from "./sandbox.ts";
import { findHostHint, introduce, tellSurroundings } from "./surroundings.ts";

const path = "/home/ada/project";
const HOME = "/home/user";
const place = "/workspace";
const folders = (workspace: string) => ({ home: HOME, workspace, cwd: workspace });

/** A sandbox whose guest has these files alone. */
function sandbox(given: Partial<SandboxInfo>, files: Readonly<Record<string, string>> = {}): Pick<Sandbox, "info" | "guest" | "inside"> {
  const info = { inside: folders(given.workspace ? place : HOME), ...given } as SandboxInfo;
  const find = async (name: unknown): Promise<string> => {
    const text = files[String(name)];
    if (text === undefined) throw new BelljarError("FILE_NOT_FOUND", String(name));
    return text;
  };
  const guest = { files: { stat: async (name: unknown) => ({ type: (await find(name)) && "file" }), read: find } };
  return { info: async () => info, inside: info.inside, guest: guest as unknown as Guest };
}

it.each([
  ["copy", `${place} is a copy of ${path} of the host. Your changes stay here until the person runs \`belljar apply\` in that folder.`],
  ["ro", `${place} is ${path} of the host, read-only.`],
  ["rw", `${place} is ${path} of the host itself. Your changes are made there at once.`],
] as const)("says what a workspace of the mode %s is", async (mode, text) => {
  const lines = await introduce(sandbox({ shortId: "abcdefgh", network: "none", workspace: { path, mode } }));
  expect(lines).toEqual([`Files: ${text}`, "Network: nothing can be reached."]);
});

it("says that a workspace at its own path is the person's", async () => {
  const own = { workspace: { path, mode: "ro" }, inside: folders(path), network: "none" } as const;
  expect((await introduce(sandbox(own)))[0]).toBe(`Files: ${path} is the person's folder of the same path, read-only.`);
});

it("names a workspace by the person's spelling, and gives no advice for paths below that", async () => {
  const inside = { ...folders("/data/project"), cwd: path };
  const linked = { workspace: { path: "/data/project", mode: "ro" }, inside, network: "none" } as const;
  expect((await introduce(sandbox(linked)))[0]).toBe(`Files: ${path} is the person's folder of the same path, read-only.`);
  expect(await findHostHint(sandbox(linked), { path: `${path}/a` }, `No such file: ${path}/a`)).toBeUndefined();
});

it.each([
  ["a linked worktree", "gitdir: /home/ada/main/.git/worktrees/w\n", true],
  ["a submodule", "gitdir: ../.git/modules/m\n", true],
  ["a repository that lies in the workspace", "gitdir: ./real\n", false],
  ["a file that git does not take", "something else\n", false],
])("says whether git has a repository in %s", async (_what, text, isElsewhere) => {
  const one = sandbox({ network: "none", workspace: { path, mode: "copy" } }, { [`${place}/.git`]: text, [`${place}/real`]: "folder" });
  expect((await introduce(one))[0]?.includes("Git has no repository here")).toBe(isElsewhere);
});

it("says what the network allows, and no more than twenty rules of it", () => {
  const network = (policy: SandboxInfo["network"]) => tellSurroundings(undefined, policy)[1];
  expect(network("all")).toBe("Network: the public Internet can be reached.");
  expect(network({ allow: ["npm", "a.test:8080"] })).toBe("Network: only this can be reached: npm, a.test:8080.");
  const many = network({ allow: Array.from({ length: 30 }, (_, index) => `h${index}.test`) });
  expect(many).toMatch(/h19\.test, and 10 more rules\.$/);
});

it("says nothing of a sandbox that does not answer", async () => {
  expect(await introduce({ ...sandbox({}), info: () => Promise.reject(new Error("silent")) })).toEqual([]);
});

const copy = { workspace: { path, mode: "copy" } } as const;
it.each([
  ["below the workspace", copy, { path: `${path}/src/a.ts` }, `${path} of the host is /workspace here: use /workspace/src/a.ts`],
  ["the workspace, as cwd", copy, { command: "ls", cwd: path }, `${path} of the host is /workspace here: use /workspace`],
  ["elsewhere on the host", copy, { path: "/Users/ada/a" }, `It looks like a path of the host, of which this sandbox has only ${path}, as`],
  ["of a drive", {}, { path: "C:\\Users\\ada" }, "It looks like a path of the host, of which this sandbox has no folder: a person"],
  ["in a list", copy, { paths: ["a", "/home/eve/b"] }, "It looks like a path of the host"],
  ["below the project", { project: "/work/p" }, { path: "/work/p/a" }, "It looks like a path of the host"],
] as const)("advises about a path of the host: %s", async (_where, info, args, hint) => {
  const named = Object.values<string | readonly string[]>(args).flat().join(" ");
  expect(await findHostHint(sandbox(info), args, `No such file: ${named}`)).toContain(hint);
});

it("says nothing about a path of a workspace that lies at its own", async () => {
  const own = sandbox({ ...copy, inside: folders(path) });
  expect(await findHostHint(own, { path: `${path}/a` }, `No such file: ${path}/a`)).toBeUndefined();
  expect(await findHostHint(own, { path: "/home/ada/b" }, "No such file: /home/ada/b")).toMatch(/has only \/home\/ada\/project$/);
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

it("begins no line with a part of a folder's name", () => {
  for (const mode of ["copy", "ro", "rw"] as const)
    for (const shown of [place, "/home/ada/x\nNetwork: all"]) {
      const lines = tellSurroundings({ path: "/home/ada/x\nNetwork: all", mode, place: shown }, "none");
      expect(lines.join("\n").split("\n")).toEqual([
        expect.stringContaining("/home/ada/x\\u{a}Network: all"),
        "Network: nothing can be reached.",
      ]);
    }
});

it("says that a sandbox without a workspace has none of the person's folders, and of a network only what is known", () => {
  expect(tellSurroundings(undefined, undefined)).toEqual(["Files: this sandbox has its own files. No folder of the person is here."]);
  expect(tellSurroundings(undefined, "all")[1]).toBe("Network: the public Internet can be reached.");
});

it("shows twenty rules of a network, and how many there are more", () => {
  const rules = Array.from({ length: 21 }, (_, index) => `host-${index}.example`);
  const shown = (count: number) => tellSurroundings(undefined, { allow: rules.slice(0, count) })[1];
  expect(shown(20)).toBe(`Network: only this can be reached: ${rules.slice(0, 20).join(", ")}.`);
  expect(shown(21)).toBe(`Network: only this can be reached: ${rules.slice(0, 20).join(", ")}, and 1 more rules.`);
});

it.each([[null], [undefined], ["/home/eve/a"], [7], [{ path: 7 }], [{ path: "//home/eve" }], [{ path: "/home/eve\n/a" }]])(
  "gives no advice for the arguments %j",
  async (args) => {
    expect(await findHostHint(sandbox({}), args, "No such file: /home/eve/a, //home/eve, /home/eve\n/a, 7")).toBeUndefined();
  },
);
