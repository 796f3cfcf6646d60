import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Guest } from "../../../src/runtime/guest/guest.ts";
import type { Sandbox } from "../../../src/sandbox/sandbox.ts";
import type { WorkspaceDiff } from "../../../src/sandbox/workspace/workspace-change.ts";
import { openWorkspaceLab } from "../../support/workspace-lab.ts";

/** A repository that ignores `node_modules`, in which one tracked file lies all the same, and `dist` but for one. */
async function openProject() {
  const lab = openWorkspaceLab();
  lab.onHost({
    ".gitignore": "node_modules/\ndist/\n!/kept/dist/\n",
    "a.js": "a\n",
    "node_modules/x/index.js": "x\n",
    "kept/dist/out.js": "out\n",
    "forced/node_modules/f.js": "f\n",
    "pkg/p.js": "p\n",
    "pkg/node_modules/y/index.js": "y\n",
  });
  lab.git("init", "-q");
  lab.git("add", "-A");
  lab.git("add", "-f", "forced/node_modules/f.js");
  lab.git("commit", "-qm", "start");
  const sandbox = await lab.open();
  return { lab, sandbox, [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose]() };
}

const paths = ({ changes }: WorkspaceDiff): readonly string[] => changes.map(({ path }) => path);

/** The same sandbox, whose lists are looked at, or told whole against the wish. */
function watched(sandbox: Sandbox, { isDeaf = false } = {}) {
  const seen: string[] = [];
  const files: Guest["files"] = {
    ...sandbox.guest.files,
    async *list(path, options) {
      for await (const info of sandbox.guest.files.list(path, isDeaf ? { ...options, closed: [] } : options)) {
        seen.push(info.path);
        yield info;
      }
    },
  };
  const guest = { ...sandbox.guest, files };
  return { seen, sandbox: new Proxy(sandbox, { get: (target, name) => (name === "guest" ? guest : bound(target, name)) }) };
}

function bound(target: Sandbox, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === "function" ? value.bind(target) : value;
}

describe("a folder that git ignores", () => {
  it("is entered on neither side, and what lies in it is no change", async () => {
    await using project = await openProject();
    const { lab, sandbox } = project;
    await lab.inside(
      sandbox,
      "echo 2 > node_modules/x/index.js; mkdir -p new/node_modules/z; echo z > new/node_modules/z/z.js; echo n > new/n.js",
    );
    const { seen, sandbox: seeing } = watched(sandbox);
    expect(paths(await lab.diff(seeing))).toEqual(["new", "new/n.js"]);
    expect(seen).toEqual(expect.arrayContaining(["node_modules", "new/node_modules", "new/n.js"]));
    expect(seen.filter((path) => /node_modules\/[xyz]|\.git\//.test(path))).toEqual([]);
  });

  it("is no change either if the guest lists it all the same", async () => {
    await using project = await openProject();
    const { lab, sandbox } = project;
    await lab.inside(sandbox, "mkdir node_modules/w; echo w > node_modules/w/w.js; echo b > b.js; rm -r forced kept");
    const { seen, sandbox: deaf } = watched(sandbox, { isDeaf: true });
    expect(paths(await lab.diff(deaf, { paths: ["b.js", "node_modules/**"] }))).toEqual(["b.js"]);
    expect(seen).toContain("node_modules/w/w.js");
  });

  it("is told of when the sandbox made it, or put something into it", async () => {
    await using project = await openProject();
    const { lab, sandbox } = project;
    expect(await lab.diff(sandbox)).toMatchObject({ changes: [], ignored: 0 });
    await lab.inside(sandbox, "mkdir dist; echo o > dist/o.js");
    expect(await lab.diff(sandbox)).toMatchObject({ changes: [], ignored: 1 });
    await lab.inside(sandbox, "mkdir node_modules/new; echo 1 > node_modules/new/i.js");
    expect(await lab.diff(sandbox)).toMatchObject({ changes: [], ignored: 2 });
  });

  it("is open where git tracks a file in it, and where only the name is that of one", async () => {
    await using project = await openProject();
    const { lab, sandbox } = project;
    await lab.inside(sandbox, "echo 2 > kept/dist/out.js; echo 2 > forced/node_modules/f.js; mkdir -p target/deep; echo t > target/deep/t");
    expect(paths(await lab.diff(sandbox))).toEqual([
      "forced/node_modules/f.js",
      "kept/dist/out.js",
      "target",
      "target/deep",
      "target/deep/t",
    ]);
  });

  it("is compared when it is named, or something in it, or with all that is ignored", async () => {
    await using project = await openProject();
    const { lab, sandbox } = project;
    await lab.inside(
      sandbox,
      "echo 2 > node_modules/x/index.js; mkdir -p dist/d; echo o > dist/d/o.js; echo 2 > pkg/node_modules/y/index.js",
    );
    expect(paths(await lab.diff(sandbox, { paths: ["node_modules"] }))).toEqual(["node_modules/x/index.js"]);
    expect(paths(await lab.diff(sandbox, { paths: ["dist/d/o.js"] }))).toEqual(["dist/d/o.js"]);
    expect(paths(await lab.diff(sandbox, { ignored: true }))).toEqual([
      "dist",
      "dist/d",
      "dist/d/o.js",
      "node_modules/x/index.js",
      "pkg/node_modules/y/index.js",
    ]);
  });

  it("stays on the host when the sandbox removes what is around it, or puts a file into its place", async () => {
    await using project = await openProject();
    const { lab, sandbox } = project;
    await lab.inside(sandbox, "rm -r pkg; rm -r node_modules; echo file > node_modules; echo 2 > a.js");
    await lab.apply(sandbox, await lab.diff(sandbox));
    expect(existsSync(join(lab.work, "pkg/p.js"))).toBe(false);
    expect(readFileSync(join(lab.work, "pkg/node_modules/y/index.js"), "utf8")).toBe("y\n");
    expect(readFileSync(join(lab.work, "node_modules/x/index.js"), "utf8")).toBe("x\n");
    expect(readFileSync(join(lab.work, "a.js"), "utf8")).toBe("2\n");
  });

  it("is none outside a repository", async () => {
    await using lab = openWorkspaceLab();
    lab.onHost({ "node_modules/x.js": "x\n" });
    const sandbox = await lab.open();
    await lab.inside(sandbox, "echo 2 > node_modules/x.js; mkdir dist; echo o > dist/o.js");
    expect(paths(await lab.diff(sandbox))).toEqual(["dist", "dist/o.js", "node_modules/x.js"]);
  });

  it("costs no list each, where hundreds only have the name of one", async () => {
    await using project = await openProject();
    const { lab, sandbox } = project;
    await lab.inside(sandbox, "for i in $(seq 250); do mkdir -p many/$i/target; echo $i > many/$i/target/f; done");
    expect(paths(await lab.diff(sandbox)).filter((path) => path.endsWith("/f"))).toHaveLength(250);
  });
});
