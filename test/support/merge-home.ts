import { execFileSync } from "node:child_process";
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { applyWorkspace } from "../../src/sandbox/workspace/apply-workspace.ts";
import { diffWorkspace } from "../../src/sandbox/workspace/workspace-diff.ts";
import { createTestTexts } from "./test-texts.ts";
import { useWorkspaceHome } from "./workspace-home.ts";

export const CONFLICT = expect.objectContaining({ code: "WORKSPACE_CONFLICT" }) as Error;
export const NOTHING = { written: [], conflicts: {}, held: [] };

const LINES = Array.from({ length: 9 }, (_, index) => `line ${index + 1}\n`);

/** Nine lines, of which these are changed. */
export const text = (...changed: readonly number[]): string =>
  LINES.map((line, index) => (changed.includes(index + 1) ? `changed ${line}` : line)).join("");

interface Wishes {
  readonly prefer?: "theirs" | "ours";
  readonly paths?: readonly string[];
  readonly ignored?: boolean;
}

/** A folder and a home for each test of a file, whose folder both sides change. */
export function useMergeHome() {
  const signal = new AbortController().signal;
  const texts = createTestTexts();
  afterAll(() => texts[Symbol.dispose]());
  const at = useWorkspaceHome();
  /** As editors save: a new file takes the name. */
  function saveByRename(path: string, content: string | Buffer): void {
    at.onHost(`${path}~`, content);
    renameSync(join(at.work, `${path}~`), join(at.work, path));
  }

  const host = (path: string): string => readFileSync(join(at.work, path), "utf8");
  /** A sandbox whose workspace's list is taken: what is changed from here on was changed after it. */
  async function open(): Promise<Sandbox> {
    const sandbox = await at.openSandbox();
    expect(await sandbox.workspaceBase([])).toMatchObject({ isComplete: true });
    return sandbox;
  }

  function diff(sandbox: Sandbox, wishes: Wishes = {}) {
    return diffWorkspace(sandbox, { home: at.home, texts, signal, ...wishes });
  }

  /** Shows and writes, as the command does. */
  async function apply(sandbox: Sandbox, wishes: Wishes = {}) {
    const shown = await diff(sandbox, wishes);
    await applyWorkspace(sandbox, shown, { home: at.home, signal });
    return {
      written: shown.changes.map(({ path }) => path),
      conflicts: Object.fromEntries(shown.conflicts.map(({ change, reason }) => [change.path, reason])),
      held: shown.held.map(({ change }) => change.path),
    };
  }

  function repository(): void {
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: at.work, stdio: "pipe" });
    git("init", "-q");
    git("add", "-A");
    git("commit", "-q", "-m", "start");
  }

  return { at, signal, texts, saveByRename, host, open, diff, apply, repository };
}
