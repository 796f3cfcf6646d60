import { existsSync, readFileSync, statSync, watch } from "node:fs";
import { on } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { loadHomeKey } from "../files/home-key.ts";
import { createSigner } from "./audit-chain.ts";
import { auditKeyOptions, indexFolder, segmentsFolder } from "./audit-place.ts";
import { AuditStore } from "./audit-store.ts";
import { SegmentIndex } from "./segment-index.ts";
import { verifyAudit } from "./verify-audit.ts";

const DAY_MS = 86_400_000;
const KEEP = { ageMs: 10 * DAY_MS, bytes: 2 ** 20 };
const LINE = '{"at":"2026-01-01T00:00:00.000Z","kind":"call"}';

let home: string;
let nowMs: number;
let removed: Readonly<Record<string, unknown>>[];
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "belljar-store-"));
  nowMs = Date.parse("2026-01-01T00:00:00Z");
  removed = [];
});
afterEach(() => rm(home, { recursive: true }));

function openStore({ keep = KEEP, note = () => undefined as void } = {}): AuditStore {
  return new AuditStore({
    home,
    keep,
    now: () => new Date(nowMs),
    removed: (fields) => {
      removed.push(fields);
      note();
    },
  });
}

const files = async () => (await readdir(segmentsFolder(home))).toSorted();

async function openIndex(): Promise<SegmentIndex> {
  const key = await loadHomeKey(auditKeyOptions({ home }));
  if (!key) throw new Error("There is no key");
  return new SegmentIndex(indexFolder(home), createSigner(key).index);
}

it("creates the key, the folders and the reserve before the first line", async () => {
  await openStore().prepare();
  expect(await files()).toEqual([]);
  expect(existsSync(join(indexFolder(home), "key.json"))).toBe(true);
  expect(statSync(join(indexFolder(home), "reserve")).size).toBe(2 ** 20);
  expect([segmentsFolder(home), indexFolder(home)].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700]);
});

describe("a segment", () => {
  it("begins with a line that names it, and its key", async () => {
    const store = openStore();
    await store.segment();
    const [name = ""] = await files();
    expect(name).toMatch(/^20260101T000000000Z-[0-9a-f]{12}-1\.jsonl$/);
    const key = await loadHomeKey(auditKeyOptions({ home }));
    expect(JSON.parse(readFileSync(join(segmentsFolder(home), name), "utf8"))).toMatchObject({
      sequence: 1,
      at: "2026-01-01T00:00:00.000Z",
      kind: "segment",
      file: name,
      previous: "0".repeat(64),
      key: key?.id,
    });
    await store.close();
  });

  it("takes lines until it is full, and is continued by another", async () => {
    const measured = openStore();
    const first = await measured.segment();
    first.append([LINE]);
    const { size } = first;
    await measured.close();
    const isContinued = async (bytes: number): Promise<boolean> => {
      const store = openStore({ keep: { ...KEEP, bytes: 8 * bytes } });
      const before = await store.segment();
      before.append([LINE]);
      const after = await store.segment();
      await store.close();
      return after !== before;
    };
    expect([await isContinued(size), await isContinued(size + 1)]).toEqual([true, false]);
    const { segments, isIntact } = await verifyAudit({ home });
    expect(isIntact).toBe(true);
    expect(segments.every(({ isOpen }) => isOpen === undefined)).toBe(true);
  });

  it("takes lines for a day", async () => {
    const store = openStore();
    const before = await store.segment();
    nowMs += DAY_MS - 1;
    expect(await store.segment()).toBe(before);
    nowMs += 1;
    expect(await store.segment()).not.toBe(before);
    await store.close();
    const lines = (await files()).map((name) =>
      readFileSync(join(segmentsFolder(home), name), "utf8")
        .trimEnd()
        .split("\n"),
    );
    expect(JSON.parse(lines[0]?.at(-1) ?? "")).toMatchObject({ kind: "next", next: (await files())[1] });
    expect(JSON.parse(lines[1]?.[0] ?? "")).toMatchObject({ kind: "segment", after: (await files())[0] });
    expect(await verifyAudit({ home })).toMatchObject({ isIntact: true });
  });

  it("is looked for every second, and begun anew if somebody has removed it", async () => {
    const store = openStore();
    const before = await store.segment();
    await rm(before.path);
    nowMs += 999;
    expect(await store.segment()).toBe(before);
    nowMs += 1;
    const after = await store.segment();
    expect(after).not.toBe(before);
    nowMs += 1_000;
    expect(await store.segment()).toBe(after);
    await rm(after.path);
    nowMs += 999;
    expect(await store.segment()).toBe(after);
    await store.close();
  });

  it("is marked as open with the line that was written last, and as closed at the end", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const store = openStore();
    const segment = await store.segment();
    const index = await openIndex();
    const markNow = async () => (await index.read()).entries[0]?.mark;
    expect(await markNow()).toMatchObject({ sequence: 1, state: "open" });
    segment.append([LINE, LINE]);
    store.noteWritten();
    store.noteWritten();
    const watcher = watch(indexFolder(home));
    const changes = on(watcher, "change");
    vi.advanceTimersByTime(1_000);
    for await (const _ of changes) if ((await markNow())?.sequence !== 1) break;
    watcher.close();
    expect(await markNow()).toEqual({ sequence: 3, lineMac: segment.mac, state: "open" });
    segment.append([LINE]);
    store.noteWritten();
    await store.close();
    expect(await markNow()).toMatchObject({ sequence: 4, state: "closed" });
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it("takes the last lines of a process that exits", async () => {
    const store = openStore();
    store.appendAtExit([LINE]);
    await store.segment();
    store.appendAtExit([LINE]);
    await store.close();
    expect(await verifyAudit({ home })).toMatchObject({ segments: [{ lines: 2 }], isIntact: true });
  });

  it("takes none at the exit while another one is begun", async () => {
    const store = openStore();
    const before = await store.segment();
    const { size } = before;
    nowMs += DAY_MS;
    const next = store.segment();
    store.appendAtExit([LINE]);
    expect(statSync(before.path).size).toBe(size);
    await next;
    await store.close();
    expect(await verifyAudit({ home })).toMatchObject({ isIntact: true });
  });
});

describe("old segments", () => {
  /** Begins and closes so many segments, each by a process of its own. */
  async function addSegments(count: number): Promise<void> {
    for (let at = 0; at < count; at += 1) {
      const store = openStore();
      await store.segment();
      await store.close();
      nowMs += 1;
    }
  }

  it("are removed when a sixteenth one begins, which is told", async () => {
    await addSegments(15);
    const old = await files();
    nowMs += 12 * DAY_MS;
    let told = (): void => undefined;
    const isTold = new Promise<void>((resolve) => (told = resolve));
    const store = openStore({ note: () => removed.length === 15 && told() });
    await store.segment();
    await isTold;
    expect(removed).toEqual(old.map((file) => ({ file, why: "age", atMs: nowMs })));
    expect(await files()).toHaveLength(1);
    await store.close();
  });

  it("are removed when a process asks, and its own is not", async () => {
    await addSegments(2);
    const store = openStore();
    const { path } = await store.segment();
    nowMs += 12 * DAY_MS;
    await Promise.all([store.keep(), store.keep()]);
    expect((await files()).map((name) => join(segmentsFolder(home), name))).toEqual([path]);
    expect(removed).toHaveLength(2);
    await store.close();
  });

  it("are looked at every hour once the store is prepared", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    await addSegments(1);
    nowMs += 12 * DAY_MS;
    let told = (): void => undefined;
    const isTold = new Promise<void>((resolve) => (told = resolve));
    const store = openStore({ note: () => told() });
    await Promise.all([store.prepare(), store.prepare()]);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(3_600_000 - 1);
    expect(removed).toEqual([]);
    vi.advanceTimersByTime(1);
    await isTold;
    expect(removed).toHaveLength(1);
    await store.close();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });
});
