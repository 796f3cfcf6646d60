import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { fakeRuntime } from "../../src/runtime/fake/fake-runtime.ts";
import type { LocalSandboxes } from "../../src/sandbox/local-sandboxes-options.ts";
import { createLocalSandboxes } from "../../src/sandbox/local-sandboxes.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { LOCAL } from "../../src/sandbox/sandbox.ts";
import { byName } from "./by-name.ts";
import { listed } from "./listed.ts";

const config = { sandbox: { timeoutMs: 60_000 }, listMax: 10, tombstoneRetentionMs: 1000 };
const signal = new AbortController().signal;

/** What each test has anew: a folder of the host, and sandboxes of the fake runtime. */
export interface WorkspaceHome {
  readonly root: string;
  readonly work: string;
  readonly home: string;
  readonly sandboxes: LocalSandboxes;
  readonly onHost: (path: string, content: string | Buffer) => void;
  readonly openSandbox: (mode?: "copy" | "ro" | "rw") => Promise<Sandbox>;
  /** Fails if the script does, or says something on stderr. */
  readonly inside: (sandbox: Sandbox, script: string) => Promise<void>;
}

/** A folder and a home for each test of a file. */
export function useWorkspaceHome(): WorkspaceHome {
  const at = {
    onHost: (path: string, content: string | Buffer): void => {
      mkdirSync(dirname(join(at.work, path)), { recursive: true });
      writeFileSync(join(at.work, path), content);
    },
    openSandbox: (mode: "copy" | "ro" | "rw" = "copy") => at.sandboxes.create(LOCAL, { workspace: { path: at.work, mode } }, signal),
    inside: async (sandbox: Sandbox, script: string): Promise<void> => {
      const { exitCode, stderr } = await sandbox.guest.run({ argv: ["sh", "-ec", script], signal });
      expect(stderr.toString()).toBe("");
      expect(exitCode).toBe(0);
    },
  } as WorkspaceHome;
  beforeEach(() => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "belljar-workspace-")));
    const [work, home] = [join(root, "work"), join(root, "home")];
    mkdirSync(work);
    Object.assign(at, { root, work, home, sandboxes: createLocalSandboxes({ home, runtimes: byName(fakeRuntime()), config }) });
  });
  afterEach(async () => {
    spawnSync("chmod", ["-R", "u+rwX", at.root]);
    for (const { id } of await listed(at.sandboxes, LOCAL, { state: ["running"] })) await (await at.sandboxes.get(LOCAL, id)).kill();
    await at.sandboxes[Symbol.asyncDispose]();
    rmSync(at.root, { recursive: true });
  });
  return at;
}
