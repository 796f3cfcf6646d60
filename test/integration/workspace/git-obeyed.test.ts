import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceDiff } from "../../../src/sandbox/workspace/workspace-change.ts";
import { openWorkspaceLab } from "../../support/workspace-lab.ts";

const HOOK = "printf '#!/bin/sh\\ntrue\\n' > .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit; git config core.editor evil";

const told = ({ changes, conflicts, held }: WorkspaceDiff) => ({
  changes: changes.map(({ path }) => path),
  conflicts: conflicts.map(({ change }) => change.path),
  held: held.map(({ change }) => change.path),
});

async function openRepository() {
  const lab = openWorkspaceLab();
  lab.onHost({ "a.js": "a\n" });
  lab.git("init", "-q");
  lab.git("add", "-A");
  lab.git("commit", "-qm", "start");
  const sandbox = await lab.open();
  // From here on, what the person changes is known to be the person's.
  expect(await sandbox.workspaceBase([])).toMatchObject({ isComplete: true });
  return { lab, sandbox, [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose]() };
}

describe("what git of the host obeys in its repository", () => {
  it("is told of when the sandbox changed it, also beside what the person changed, and written only by name", async () => {
    await using project = await openRepository();
    const { lab, sandbox } = project;
    expect(told(await lab.diff(sandbox))).toEqual({ changes: [], conflicts: [], held: [] });
    await lab.inside(sandbox, `${HOOK}; git -c user.name=t -c user.email=t@example.com commit -q --allow-empty -m inside; echo b > b.js`);
    const held = [".git/config", ".git/hooks/pre-commit"];
    expect(told(await lab.diff(sandbox))).toEqual({ changes: ["b.js"], conflicts: [], held });
    expect(told(await lab.diff(sandbox, { paths: ["b.js"] }))).toEqual({ changes: ["b.js"], conflicts: [], held: [] });
    lab.git("config", "core.editor", "mine");
    chmodSync(join(lab.work, ".git/config"), 0o600);
    expect(told(await lab.diff(sandbox))).toEqual({ changes: ["b.js"], conflicts: [], held: held.toReversed() });
    expect(told(await lab.diff(sandbox, { prefer: "theirs" }))).toEqual({ changes: ["b.js"], conflicts: [], held });
    expect(told(await lab.diff(sandbox, { paths: [".git/hooks/pre-commit"] })).changes).toEqual([".git/hooks/pre-commit"]);
    expect(readFileSync(join(lab.work, ".git/config"), "utf8")).toContain("mine");
  });

  it("is nothing when the person changed it, or when the sandbox took it away", async () => {
    await using project = await openRepository();
    const { lab, sandbox } = project;
    lab.git("config", "core.editor", "mine");
    lab.onHost({ ".git/hooks/post-merge": "#!/bin/sh\n" });
    await lab.inside(sandbox, "rm -rf .git/hooks");
    expect(told(await lab.diff(sandbox))).toEqual({ changes: [], conflicts: [], held: [] });
  });

  it("is nothing of a repository that the sandbox made", async () => {
    await using lab = openWorkspaceLab();
    lab.onHost({ "a.js": "a\n" });
    const sandbox = await lab.open();
    await lab.inside(sandbox, `git init -q; mkdir -p .git/hooks; ${HOOK}`);
    expect(told(await lab.diff(sandbox))).toEqual({ changes: [], conflicts: [], held: [] });
  });
});
