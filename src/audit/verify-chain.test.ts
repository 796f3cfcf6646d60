import { mkdir, mkdtemp, readdir, rm, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createMemoryKeyring } from "../../test/support/memory-keyring.ts";
import { openHomeKey } from "../files/home-key.ts";
import type { Keyring } from "../files/keyring.ts";
import { createSigner } from "./audit-chain.ts";
import { auditKeyOptions, indexFolder, segmentsFolder } from "./audit-place.ts";
import type { SegmentMark } from "./index-state.ts";
import { SegmentFile } from "./segment-file.ts";
import { SegmentIndex } from "./segment-index.ts";
import { verifyAudit } from "./verify-audit.ts";

interface Segment {
  /** Lines after the first one, as their fields. */
  readonly lines?: readonly object[];
  /** The predecessor that the first line names, and the MAC to which it is chained. */
  readonly after?: string;
  readonly previous?: string;
  /** What the first line says besides, or instead. */
  readonly first?: object;
  /** Undefined: the index has no mark for it. */
  readonly mark?: SegmentMark["state"];
  readonly isInIndex?: boolean;
}

/** A home whose segments the test writes with the right key, in whatever state. */
async function openHome(keyring?: Keyring) {
  const home = await mkdtemp(join(tmpdir(), "belljar-verify-"));
  const place = { home, ...(keyring && { keyring }) };
  const [folder, indexed] = [segmentsFolder(home), indexFolder(home)];
  await mkdir(folder);
  const signer = createSigner(await openHomeKey(auditKeyOptions(place)));
  const index = new SegmentIndex(indexed, signer.index);
  const at = "2026-01-01T00:00:00.000Z";
  return {
    home,
    folder,
    index,
    verify: () => verifyAudit(place),
    /** Writes a segment, and gives the MAC of its last line. */
    async add(name: string, { lines = [{ kind: "call" }], after, previous, first, mark, isInIndex = true }: Segment = {}) {
      const file = new SegmentFile(join(folder, name), signer.line);
      if (previous !== undefined) file.follow(previous);
      file.append([JSON.stringify({ at, kind: "segment", file: name, previous: file.mac, ...(after && { after }), ...first })]);
      for (const line of lines) file.append([JSON.stringify({ at, ...line })]);
      file.close();
      const number = isInIndex ? await index.place(name) : 0;
      if (mark) await index.mark(number, { sequence: file.sequence, lineMac: file.mac, state: mark });
      return file.mac;
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true }),
  };
}

const [ONE, TWO, THREE] = [1, 2, 3].map((part) => `20260101T00000000${part}Z-0123456789ab-${part}.jsonl`) as [string, string, string];

describe("a segment", () => {
  it("that its writer has closed is intact", async () => {
    await using home = await openHome();
    await home.add(ONE, { mark: "closed" });
    expect(await home.verify()).toMatchObject({ segments: [{ file: ONE, lines: 2 }], isIntact: true, removed: 0 });
    expect(Object.keys((await home.verify()).segments[0] ?? {})).toEqual(["file", "lines"]);
  });

  it("that its writer has not closed may grow beyond its mark", async () => {
    await using home = await openHome();
    await home.add(ONE, { mark: "open" });
    expect((await home.verify()).segments).toEqual([{ file: ONE, lines: 2, isOpen: true }]);
  });

  it.each<[what: string, segment: Segment, fault: object]>([
    ["has more than its first line, and no mark", {}, { problem: "changed", brokenLine: 2, isOpen: true }],
    ["is of another kind", { first: { kind: "call" }, mark: "closed" }, { problem: "changed", brokenLine: 1 }],
    ["has the name of another", { first: { file: TWO }, mark: "closed" }, { problem: "changed", brokenLine: 1 }],
    ["is chained to nothing", { first: { previous: 7 }, mark: "closed" }, { problem: "changed", brokenLine: 1 }],
    [
      "is chained to another line than it says",
      { first: { previous: "1".repeat(64) }, mark: "closed" },
      { problem: "changed", brokenLine: 1 },
    ],
  ])("that %s is changed", async (_what, segment, fault) => {
    await using home = await openHome();
    await home.add(ONE, segment);
    const { segments, isIntact } = await home.verify();
    expect([segments, isIntact]).toMatchObject([[{ file: ONE, ...fault }], false]);
  });

  it("with its first line alone needs no mark", async () => {
    await using home = await openHome();
    await home.add(ONE, { lines: [] });
    expect(await home.verify()).toMatchObject({ segments: [{ file: ONE, lines: 1, isOpen: true }], isIntact: true });
  });

  it("without the line of its mark is cut", async () => {
    await using home = await openHome();
    await home.add(ONE, { mark: "closed" });
    await home.index.mark(1, { sequence: 3, lineMac: "1".repeat(64), state: "closed" });
    expect((await home.verify()).segments).toEqual([{ file: ONE, lines: 2, problem: "cut" }]);
    await home.index.mark(1, { sequence: 2, lineMac: "1".repeat(64), state: "open" });
    expect((await home.verify()).segments).toEqual([{ file: ONE, lines: 2, problem: "cut", isOpen: true }]);
  });

  it("that the index knows and nobody finds is missing", async () => {
    await using home = await openHome();
    await home.add(ONE, { mark: "closed" });
    await unlink(join(home.folder, ONE));
    expect(await home.verify()).toMatchObject({ segments: [{ file: ONE, lines: 0, problem: "missing" }], isIntact: false });
  });

  it("that Belljar has removed is counted, and not missed", async () => {
    await using home = await openHome();
    for (const name of [ONE, TWO, THREE]) await home.add(name, { mark: "closed" });
    for (const entry of (await home.index.read()).entries.slice(0, 2)) await home.index.noteRemoval(entry, { atMs: 1, why: "age" });
    expect(await home.verify()).toMatchObject({ segments: [{ file: THREE }], removed: 2, isIntact: true });
    for (const name of [ONE, TWO]) await unlink(join(home.folder, name));
    await home.index.fold(await home.index.read(), 2);
    expect(await home.verify()).toMatchObject({ segments: [{ file: THREE }], removed: 2, isIntact: true });
  });

  it("that was begun and never placed in the index is no fault, and is one with a line more", async () => {
    await using home = await openHome();
    await home.add(ONE, { lines: [], isInIndex: false });
    await home.add(TWO, { isInIndex: false });
    expect((await home.verify()).segments).toEqual([
      { file: ONE, lines: 1, isOpen: true },
      { file: TWO, lines: 2, problem: "unknown" },
    ]);
  });

  it("that was begun with half a line is no fault, and is one after a whole line", async () => {
    await using home = await openHome();
    await writeFile(join(home.folder, ONE), '{"sequence":1');
    await home.add(TWO, { lines: [], isInIndex: false });
    await writeFile(join(home.folder, TWO), '{"sequence":2', { flag: "a" });
    await writeFile(join(home.folder, THREE), "made up\n");
    await writeFile(join(home.folder, "notes.txt"), "x");
    expect((await home.verify()).segments).toEqual([
      { file: ONE, lines: 0, isOpen: true, isTorn: true },
      { file: TWO, lines: 1, problem: "unknown" },
      { file: THREE, lines: 1, problem: "unknown" },
    ]);
  });
});

describe("a segment that continues another", () => {
  const next = (name: string) => [{ kind: "next", next: name }];

  it("is intact if each names the other", async () => {
    await using home = await openHome();
    const mac = await home.add(ONE, { lines: next(TWO), mark: "closed" });
    await home.add(TWO, { after: ONE, previous: mac, mark: "closed" });
    expect((await home.verify()).isIntact).toBe(true);
  });

  it("is intact if the other one was removed", async () => {
    await using home = await openHome();
    await home.add(TWO, { after: ONE, previous: "1".repeat(64), mark: "closed" });
    expect((await home.verify()).isIntact).toBe(true);
  });

  it.each<[what: string, lines: readonly object[], previous: string | undefined]>([
    ["names nothing", [{ kind: "call" }], undefined],
    ["names another", next(THREE), undefined],
    ["names it in a line of another kind", [{ kind: "call", next: TWO }], undefined],
    ["ends with another line", next(TWO), "1".repeat(64)],
  ])("is apart if the other one %s", async (_what, lines, previous) => {
    await using home = await openHome();
    const mac = await home.add(ONE, { lines, mark: "closed" });
    await home.add(TWO, { after: ONE, previous: previous ?? mac, mark: "closed" });
    expect(await home.verify()).toMatchObject({ segments: [{ file: ONE }, { file: TWO, problem: "apart" }], isIntact: false });
  });

  it("is not blamed for the fault of the other one", async () => {
    await using home = await openHome();
    await home.add(ONE, { mark: "closed", first: { file: TWO } });
    await home.add(TWO, { after: ONE, mark: "closed" });
    expect((await home.verify()).segments.map(({ problem }) => problem)).toEqual(["changed", undefined]);
  });
});

describe("the key", () => {
  it("is not needed where there is no audit", async () => {
    const home = await mkdtemp(join(tmpdir(), "belljar-verify-"));
    expect(await verifyAudit({ home })).toEqual({ segments: [], indexProblems: [], removed: 0, isIntact: true });
    await rm(home, { recursive: true });
  });

  it("is named, with its place", async () => {
    await using home = await openHome();
    expect((await home.verify()).key).toEqual({ id: expect.stringMatching(/^[0-9a-f]{32}$/) as string, isInKeyring: false });
    await using other = await openHome(createMemoryKeyring());
    expect((await other.verify()).key?.isInKeyring).toBe(true);
  });

  it("must be there where there are segments", async () => {
    await using home = await openHome();
    await home.add(ONE, { mark: "closed" });
    await rm(join(indexFolder(home.home), "key.json"));
    await expect(home.verify()).rejects.toMatchObject({ code: "AUDIT_DAMAGED" });
    expect(await readdir(home.folder)).toEqual([ONE]);
  });

  it("must be the one that the keyring remembers", async () => {
    const keyring = createMemoryKeyring();
    await using home = await openHome(keyring);
    await home.add(ONE, { mark: "closed" });
    await keyring.store(`audit ${home.home}`, "another");
    await expect(home.verify()).rejects.toMatchObject({
      code: "AUDIT_DAMAGED",
      message: expect.stringContaining("secret-tool clear") as string,
    });
  });
});
