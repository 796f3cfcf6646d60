import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fakeRuntime } from "../../src/runtime/fake/fake-runtime.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { applyWorkspace } from "../../src/sandbox/workspace/apply-workspace.ts";
import type { ApplyResult } from "../../src/sandbox/workspace/apply-workspace.ts";
import type { WorkspaceDiff } from "../../src/sandbox/workspace/workspace-change.ts";
import type { DiffOptions } from "../../src/sandbox/workspace/workspace-diff.ts";
import { diffWorkspace } from "../../src/sandbox/workspace/workspace-diff.ts";
import { byName } from "./by-name.ts";
import { listed } from "./listed.ts";
import { createTestTexts } from "./test-texts.ts";

const config = { sandbox: { timeoutMs: 60_000 }, listMax: 10, tombstoneRetentionMs: 1000 };

/** A folder of the host, and sandboxes of the fake runtime that have a copy of it. Disposing it leaves nothing. */
export interface WorkspaceLab extends AsyncDisposable {
  readonly work: string;
  readonly home: string;
  onHost(files: Readonly<Record<string, string>>): void;
  /** Runs git in the folder. */
  git(...argv: readonly string[]): string;
  open(): Promise<Sandbox>;
  /** Fails if the script does, or says something on stderr. */
  inside(sandbox: Sandbox, script: string): Promise<void>;
  diff(sandbox: Sandbox, options?: Partial<DiffOptions>): Promise<WorkspaceDiff>;
  apply(sandbox: Sandbox, diff: WorkspaceDiff): Promise<ApplyResult>;
}

export function openWorkspaceLab(): WorkspaceLab {
  const { signal } = new AbortController();
  const root = realpathSync(mkdtempSync(join(tmpdir(), "belljar-workspace-")));
  const [work, home] = [join(root, "work"), join(root, "home")];
  mkdirSync(work);
  const texts = createTestTexts();
  const sandboxes = createLocalSandboxes({ home, runtimes: byName(fakeRuntime()), config });
  return {
    work,
    home,
    onHost(files) {
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(join(work, path)), { recursive: true });
        writeFileSync(join(work, path), content);
      }
    },
    git: (...argv) =>
      execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...argv], { cwd: work, encoding: "utf8" }),
    open: () => sandboxes.create(LOCAL, { workspace: { path: work, mode: "copy" } }, signal),
    async inside(sandbox, script) {
      const { exitCode, stderr } = await sandbox.guest.run({ argv: ["sh", "-ec", script], signal });
      if (exitCode !== 0 || stderr.length > 0) throw new Error(`It ended with ${exitCode}: ${stderr.toString()}`);
    },
    diff: (sandbox, options) => diffWorkspace(sandbox, { home, texts, signal, ...options }),
    apply: (sandbox, diff) => applyWorkspace(sandbox, diff, { home, signal }),
    async [Symbol.asyncDispose]() {
      texts[Symbol.dispose]();
      for (const { id } of await listed(sandboxes, LOCAL, { state: ["running"] })) await (await sandboxes.get(LOCAL, id)).kill();
      await sandboxes[Symbol.asyncDispose]();
      rmSync(root, { recursive: true });
    },
  };
}
