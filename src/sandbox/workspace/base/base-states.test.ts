import { describe, expect, it } from "vitest";
import { fileEntry, folderEntry, STARTED_NS } from "../../../../test/support/workspace-entries.ts";
import type { AppliedEntry } from "../apply/applied-entries.ts";
import type { HostEntry } from "../entry.ts";
import type { BaseAnswer, BaseEntry } from "./base-entry.ts";
import { findBases } from "./base-states.ts";

interface Known extends Partial<Omit<BaseAnswer, "entries">> {
  readonly entries?: Readonly<Record<string, Omit<BaseEntry, "key">>>;
  readonly host?: Readonly<Record<string, HostEntry>>;
  readonly applied?: AppliedEntry;
}

const later = { ctimeNs: STARTED_NS + 1n };

async function baseOf(key: string, { entries = {}, host = {}, applied, ...answer }: Known) {
  const asked: string[] = [];
  const find = await findBases(
    {
      base: {
        workspaceBase: async (keys) => {
          asked.push(...keys);
          const found = Object.entries(entries).map(([name, entry]) => ({ ...entry, key: name }));
          return { startedNs: STARTED_NS, isComplete: false, entries: found, ...answer };
        },
        workspaceBaseText: () => Promise.reject(new TypeError("Nobody reads a text here")),
      },
      applied: new Map(applied && [[applied.key, applied]]),
      host: new Map(Object.entries(host)),
    },
    [key],
  );
  return { base: find(key), asked };
}

describe("a path in the list of the folder", () => {
  it("began as it was listed, and is unchanged outside if nothing happened to it", async () => {
    const entry = fileEntry({ ctimeNs: STARTED_NS });
    const { base } = await baseOf("f", { entries: { f: { ...entry, blob: "abc" } }, host: { f: entry } });
    expect(base).toEqual({ began: expect.objectContaining({ key: "f", size: 1 }), isUnchangedOutside: true, blob: "abc" });
    for (const now of [fileEntry({ ctimeNs: STARTED_NS, mode: 0o600 }), fileEntry(later), folderEntry()])
      expect((await baseOf("f", { entries: { f: entry }, host: { f: now } })).base?.isUnchangedOutside).toBe(false);
    expect((await baseOf("f", { entries: { f: entry } })).base).toEqual({ began: { ...entry, key: "f" }, isUnchangedOutside: false });
  });

  it("is not proven if it had changed by the time it was listed, or if nobody knows when the sandbox was made", async () => {
    const entry = fileEntry(later);
    expect((await baseOf("f", { entries: { f: entry }, host: { f: entry } })).base).toBeUndefined();
    const unknown = { entries: { f: fileEntry() }, host: { f: fileEntry() }, startedNs: undefined };
    expect((await baseOf("f", unknown)).base).toBeUndefined();
  });

  it("is told by its mode alone if it is a folder", async () => {
    const entry = folderEntry(later);
    const changed = folderEntry({ inode: 7n, ctimeNs: STARTED_NS + 9n });
    expect((await baseOf("d", { entries: { d: entry }, host: { d: changed } })).base?.isUnchangedOutside).toBe(true);
    for (const now of [folderEntry({ mode: 0o700 }), fileEntry({ mode: 0o755, inode: 2n })])
      expect((await baseOf("d", { entries: { d: entry }, host: { d: now } })).base?.isUnchangedOutside).toBe(false);
  });
});

describe("a path that is not in the list", () => {
  it("was not there if the list is complete", async () => {
    expect((await baseOf("f", { isComplete: true })).base).toEqual({ began: undefined, isUnchangedOutside: true });
    expect((await baseOf("f", { isComplete: true, host: { f: fileEntry() } })).base).toEqual({
      began: undefined,
      isUnchangedOutside: false,
    });
  });

  it("is as it began if it and all folders above it are older than the sandbox", async () => {
    const host = { a: folderEntry(), "a/b": folderEntry(), "a/b/f": fileEntry({ ctimeNs: STARTED_NS }) };
    expect((await baseOf("a/b/f", { host })).base).toEqual({ began: host["a/b/f"], isUnchangedOutside: true });
    for (const key of Object.keys(host)) {
      const changed = { ...host, [key]: { ...host["a/b/f"], ...later } };
      expect((await baseOf("a/b/f", { host: changed })).base, key).toBeUndefined();
    }
    expect((await baseOf("a/b/f", { host, startedNs: undefined })).base).toBeUndefined();
  });

  it("was not there if a folder above it is older than the sandbox", async () => {
    expect((await baseOf("a/b/f", { host: { a: folderEntry() } })).base).toEqual({ began: undefined, isUnchangedOutside: true });
    expect((await baseOf("a/b/f", { host: { a: folderEntry(later) } })).base).toBeUndefined();
    // The root is older for whatever was put into it.
    expect((await baseOf("f", {})).base).toBeUndefined();
  });
});

describe("a path that was applied", () => {
  const guest = fileEntry({ mtimeNs: 50n });
  const host = fileEntry({ mtimeNs: 60n });

  it("counts from there on, and nobody asks how it began", async () => {
    const text = Buffer.from("text");
    const { base, asked } = await baseOf("f", { applied: { key: "f", guest, host, text }, host: { f: host } });
    expect({ base, asked }).toEqual({ base: { began: guest, isUnchangedOutside: true, text }, asked: [] });
    expect((await baseOf("f", { applied: { key: "f", guest, host }, host: { f: fileEntry(later) } })).base?.isUnchangedOutside).toBe(false);
    expect((await baseOf("g", { applied: { key: "f", guest, host }, isComplete: true })).asked).toEqual(["g"]);
  });

  it("is unchanged outside if it was removed there, and still is", async () => {
    expect((await baseOf("f", { applied: { key: "f" } })).base).toEqual({ began: undefined, isUnchangedOutside: true });
    expect((await baseOf("f", { applied: { key: "f" }, host: { f: host } })).base?.isUnchangedOutside).toBe(false);
    expect((await baseOf("f", { applied: { key: "f", guest, host } })).base?.isUnchangedOutside).toBe(false);
  });

  it("is always to be merged if the host has more than the sandbox", async () => {
    const { base } = await baseOf("f", { applied: { key: "f", guest, host, isDiverged: true }, host: { f: host } });
    expect(base?.isUnchangedOutside).toBe(false);
  });
});
