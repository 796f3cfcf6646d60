import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sandboxWithFiles } from "../../../test/support/guest-files.ts";
import { changeOf, fileEntry } from "../../../test/support/workspace-entries.ts";
import { mergeTexts } from "../../text/merge-text.ts";
import type { Texts } from "../../text/texts.ts";
import type { Choice } from "./choose-changes.ts";
import { chooseChanges } from "./choose-changes.ts";
import type { WorkspaceChange } from "./workspace-change.ts";

const OLD = "1\n2\n3\n4\n5\n";
const NEW = "one\n2\n3\n4\nfive\n";
const FIRST = { from: 0, to: 1, lines: ["one\n"] };

let hostPath: string;
beforeEach(() => {
  hostPath = mkdtempSync(join(tmpdir(), "bj-choose-"));
});
afterEach(() => rmSync(hostPath, { recursive: true }));

interface Setting {
  readonly host?: string | Buffer;
  readonly guest?: string;
  readonly change?: Partial<WorkspaceChange>;
}

/** What is chosen of a file that the sandbox changed. */
async function choose(choice: Choice | undefined, { host = OLD, guest = NEW, change = {} }: Setting = {}) {
  writeFileSync(join(hostPath, "f"), host);
  const merge = async (_job: string, request: Parameters<typeof mergeTexts>[0]) => mergeTexts(request);
  const texts = { run: merge } as unknown as Texts;
  const entries = [fileEntry({ size: guest.length, mode: 0o755 }), fileEntry({ size: host.length, mode: 0o600, mtimeNs: 5n })] as const;
  const whole = { ...changeOf("f", ...entries), ...change } as WorkspaceChange;
  const nothing = { conflicts: [], held: [], settled: [], ignored: 0, commits: 0, skipped: [] };
  const diff = { sandboxId: "id", hostPath, changes: [whole], ...nothing };
  const sources = { sandbox: sandboxWithFiles({ f: guest }), texts, signal: new AbortController().signal };
  const chosen = await chooseChanges(sources, diff, new Map(choice === undefined ? [] : [["f", choice]]));
  return { whole, diff, chosen, change: chosen.changes[0] };
}

describe("a change", () => {
  it("is there as it was if all of it is chosen", async () => {
    const { whole, chosen, diff } = await choose("all");
    expect(chosen).toEqual({ ...diff, changes: [whole] });
  });

  it.each<[string, Choice | undefined]>([
    ["nothing of it is chosen", "none"],
    ["nobody said anything of it", undefined],
    ["none of its lines are chosen", []],
  ])("is left out if %s", async (_why, choice) => {
    expect((await choose(choice)).chosen.changes).toEqual([]);
  });
});

describe("some lines of a change", () => {
  it("are written alone, in the host's mode, and the sandbox's file stays known", async () => {
    const { change, whole } = await choose([FIRST]);
    expect(String(change?.merged)).toBe("one\n2\n3\n4\n5\n");
    expect(change).toMatchObject({ kind: "modified", guest: { mode: 0o600, size: 12 }, host: { mode: 0o600 }, unmerged: whole.guest });
    expect(Number((change?.guest?.mtimeNs ?? 0n) / 1_000_000n)).toBeGreaterThan(Date.UTC(2020));
  });

  it("are the base of both sides afterwards, where the host has nothing of its own", async () => {
    const { change } = await choose([FIRST]);
    expect([String(change?.part?.base), change?.part?.isMerged]).toEqual(["one\n2\n3\n4\n5\n", false]);
  });

  it("are merged into the base, without what the host has of its own", async () => {
    const host = "1\n2\nthree\n4\n5\n";
    const merged = Buffer.from("one\n2\nthree\n4\nfive\n");
    const { change } = await choose([FIRST], { host, change: { merged } });
    expect(String(change?.merged)).toBe("one\n2\nthree\n4\n5\n");
    expect([String(change?.part?.base), change?.part?.isMerged]).toEqual(["one\n2\n3\n4\n5\n", true]);
  });

  it("leave no known base where what was left out touches what the host has of its own", async () => {
    const merged = Buffer.from("one\n2\n3\n4\nfive, mine\n");
    const { change } = await choose([FIRST], { host: "1\n2\n3\n4\nmine\n", change: { merged } });
    expect(change?.part).toEqual({ base: undefined, isMerged: true });
  });

  it("keep the sandbox's own file of a change that was merged before", async () => {
    const unmerged = fileEntry({ size: NEW.length, mtimeNs: 77n });
    expect((await choose([FIRST], { change: { unmerged } })).change?.unmerged).toBe(unmerged);
  });

  it("are refused where the host's file is no text any more", async () => {
    await expect(choose([FIRST], { host: Buffer.from([0xff, 0xfe, 0x0a]) })).rejects.toMatchObject({ code: "WORKSPACE_CONFLICT" });
  });

  it("are refused where the sandbox's file is another one", async () => {
    const guest = fileEntry({ size: NEW.length + 1 });
    await expect(choose([FIRST], { change: { guest } })).rejects.toMatchObject({ code: "WORKSPACE_CONFLICT" });
  });

  it("are none of a file that came or went", async () => {
    await expect(choose([FIRST], { change: { host: undefined, kind: "added" } })).rejects.toThrow("No part of f");
  });
});
