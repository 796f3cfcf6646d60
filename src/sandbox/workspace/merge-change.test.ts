import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sandboxWithFiles } from "../../../test/support/guest-files.ts";
import { fileEntry } from "../../../test/support/workspace-entries.ts";
import { BelljarError } from "../../errors.ts";
import { mergeTexts } from "../../text/merge-text.ts";
import type { Texts } from "../../text/texts.ts";
import { hashOf } from "./compare-content.ts";
import { HostFolder } from "./host-folder.ts";
import { mergeChange } from "./merge-change.ts";

const BEGAN = "1\n2\n3\n4\n5\n6\n7\n";
const MAX = 1024 * 1024;

interface Sides {
  readonly began?: string;
  readonly host?: string;
  readonly guest?: string;
  /** Of began, host and guest. */
  readonly modes?: readonly [number, number, number];
  /** What is kept of the start. Default: all of it. */
  readonly kept?: string | undefined;
  /** The base has the text itself. */
  readonly text?: string;
  readonly run?: () => Promise<never>;
}

/** What comes of a file that both sides changed. */
async function merge(sides: Sides) {
  const { began = BEGAN, host = BEGAN, guest = BEGAN, modes = [0o644, 0o644, 0o644], text } = sides;
  const kept = "kept" in sides ? sides.kept : began;
  const root = realpathSync(mkdtempSync(join(tmpdir(), "bj-merge-")));
  try {
    writeFileSync(join(root, "a"), host);
    const run =
      sides.run ?? (async (job: string, request: Parameters<typeof mergeTexts>[0]) => (job === "merge" ? mergeTexts(request) : undefined));
    const texts = { run } as unknown as Texts;
    const sandbox = sandboxWithFiles({ a: guest }, { texts: kept === undefined ? {} : { a: kept } });
    const sources = { sandbox, folder: new HostFolder(root), texts, signal: new AbortController().signal };
    const entry = (one: string, mode: number) => fileEntry({ size: Buffer.byteLength(one), mode });
    const change = { path: "a", key: "a", kind: "modified", guest: entry(guest, modes[2]), host: entry(host, modes[1]) } as const;
    const base = { began: entry(began, modes[0]), isUnchangedOutside: false, ...(text !== undefined && { text: Buffer.from(text) }) };
    return await mergeChange(sources, change, base);
  } finally {
    rmSync(root, { recursive: true });
  }
}

const inside = BEGAN.replace("2", "two");
const outside = BEGAN.replace("6", "six");
const both = inside.replace("6", "six");

it("has the changes of both sides, and says what the sandbox's content was", async () => {
  const merged = await merge({ guest: inside, host: outside });
  expect(merged).toMatchObject({ kind: "modified", sha256: hashOf(Buffer.from(inside)), unmerged: { size: inside.length } });
  if (!merged || !("merged" in merged)) throw new TypeError("It is merged");
  expect(String(merged.merged)).toBe(both);
  expect(merged.guest).toMatchObject({ size: both.length, mode: 0o644 });
  expect(Number((merged.guest?.mtimeNs ?? 0n) / 1_000_000n)).toBeGreaterThan(Date.UTC(2020));
});

it("has nothing to write where the host has all of the sandbox's changes", async () => {
  expect(await merge({ guest: inside, host: both })).toBeUndefined();
  expect(await merge({ guest: BEGAN, host: outside })).toBeUndefined();
});

it.each([
  [[0o644, 0o644, 0o755], 0o755],
  [[0o755, 0o755, 0o644], 0o644],
] as const)("writes the sandbox's mode alone where the host has its text: %j", async (modes, mode) => {
  for (const guest of [BEGAN, inside]) {
    const change = await merge({ guest, host: guest === BEGAN ? outside : both, modes });
    expect(change).toMatchObject({ kind: "mode_changed", guest: { mode } });
    expect(change).not.toHaveProperty("merged");
  }
});

it.each([
  [[0o644, 0o755, 0o644], undefined],
  [[0o644, 0o755, 0o755], undefined],
] as const)("keeps the host's mode where the sandbox changed none of its own: %j", async (modes, change) => {
  expect(await merge({ guest: BEGAN, host: outside, modes })).toBe(change);
  expect(await merge({ guest: inside, host: outside, modes })).toMatchObject({ kind: "modified", guest: { mode: 0o755 } });
});

it.each<readonly [string, Sides, string]>([
  ["whose mode both changed", { modes: [0o644, 0o755, 0o600] }, "its mode was changed inside and outside"],
  ["whose text at the start nobody kept", { guest: inside, host: outside, kept: undefined }, "its text at the start is not known"],
  ["whose text at the start has another length", { guest: inside, host: outside, kept: `${BEGAN}x` }, "its text at the start is not known"],
  ["that is no text inside", { guest: `${inside}\0`, host: outside }, "no text"],
  ["that is no text outside", { guest: inside, host: `${outside}\0` }, "no text"],
  ["that was no text", { began: `${BEGAN}\0`, guest: inside, host: outside }, "no text"],
  ["of which both changed a line", { guest: inside, host: BEGAN.replace("2", "zwei") }, "the same lines were changed"],
])("does not merge a file %s", async (_, sides, reason) => {
  expect(await merge(sides)).toEqual({ reason: expect.stringContaining(reason) as string });
});

it("takes the text of the last apply before any other", async () => {
  expect(await merge({ guest: inside, host: outside, kept: undefined, text: BEGAN })).toHaveProperty("merged");
});

it("merges files of a mebibyte, and no larger ones", async () => {
  const large = (bytes: number) => "x\n".repeat(bytes).slice(0, bytes);
  const tooLarge = { reason: "changed inside and outside, and too large to merge" };
  const sides = (bytes: number) => [{ guest: large(bytes) }, { host: large(bytes) }, { began: large(bytes) }];
  const run = async (): Promise<never> => Promise.reject(new BelljarError("FILE_TOO_LARGE", "too much work"));
  for (const one of sides(MAX)) expect(await merge({ ...one, run })).not.toEqual(tooLarge);
  for (const one of sides(MAX + 1)) expect(await merge({ ...one, run })).toEqual(tooLarge);
});

it("takes texts that are too much work for a conflict, and passes other failures on", async () => {
  const fails = (code: "FILE_TOO_LARGE" | "CANCELLED") => () => Promise.reject(new BelljarError(code, "no"));
  const sides = { guest: inside, host: outside };
  expect(await merge({ ...sides, run: fails("FILE_TOO_LARGE") })).toEqual({ reason: "the same lines were changed inside and outside" });
  await expect(merge({ ...sides, run: fails("CANCELLED") })).rejects.toMatchObject({ code: "CANCELLED" });
});
