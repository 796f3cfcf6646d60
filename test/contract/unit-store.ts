import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { mapLimit } from "../../src/async/map-limit.ts";
import type { UnitId, UnitStore } from "../../src/dynamic/store/unit-store.ts";
import type { UnitHead, UnitSpec, UnitVersion } from "../../src/dynamic/unit.ts";

const WORKER = join(import.meta.dirname, "../fixtures/unit-store-worker.mjs");

/** A place that any number of stores may open, in this process and in others. It goes with its disposal. */
export interface StorePlace extends AsyncDisposable {
  open(): UnitStore | Promise<UnitStore>;
  /** The compiled module, its function and the options with which a worker opens the same place. */
  readonly module: string;
  readonly opens: string;
  readonly options: Readonly<Record<string, unknown>>;
}

export const SPEC: UnitSpec = {
  language: "python",
  code: "@mcp.tool\ndef weather(city: str) -> str:\n    return city\n",
  requirements: ["requests==2.32.0"],
  network: { allow: ["api.example.com"] },
  secrets: { KEY: { secret: "weather-key", hosts: ["api.example.com"] } },
  limits: { memoryBytes: 2 ** 28 },
  reuse: "session",
  timeoutMs: 5_000,
  tests: [{ arguments: { city: "Łódź\n\"'" }, expect: { text: "Łódź" } }],
};

export function versionOf(number: number, spec: UnitSpec = { ...SPEC, code: `${SPEC.code}# ${number}\n` }): UnitVersion {
  const tool = {
    name: "weather",
    function: "weather",
    description: "Tells",
    inputSchema: { type: "object" },
    annotations: { readOnlyHint: true },
  };
  return { number, spec, tools: [tool], createdAt: new Date(Date.UTC(2026, 0, number)) };
}

/** The head that follows, with this version. */
export function nextHead(id: UnitId, before: UnitHead | undefined, added?: UnitVersion): UnitHead {
  const versions = added ? [{ number: added.number, createdAt: added.createdAt, isTested: false }] : [];
  const first = { ...id, isDisabled: false, isShared: false, versions: [] };
  const last = before ?? { ...first, revision: 0 };
  return { ...last, revision: last.revision + 1, versions: [...last.versions, ...versions] };
}

/** Publishes the next version. */
export async function publish(store: UnitStore, id: UnitId, spec?: UnitSpec): Promise<UnitHead> {
  const before = await store.head(id.owner, id.name);
  const added = versionOf((before?.versions.at(-1)?.number ?? 0) + 1, spec);
  const head = nextHead(id, before, added);
  await store.write(head, before?.revision ?? 0, added);
  return head;
}

export interface StoreWorker {
  readonly facts: readonly { readonly wrote?: { readonly revision: number; readonly number: number }; readonly failed?: string }[];
  says(): Promise<unknown>;
  kill(): Promise<void>;
  readonly exit: Promise<number | null>;
}

/** Starts a process that works on the place. Whoever starts it ends it or waits for its end. */
export function startStoreWorker(task: "count" | "publish" | "add", place: StorePlace, more: object = {}): StoreWorker {
  const args = [WORKER, task, place.module, JSON.stringify({ opens: place.opens, open: place.options, ...more })];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const facts: StoreWorker["facts"][number][] = [];
  const lines = createInterface({ input: child.stdout }).on("line", (line) => {
    if (line.endsWith("}")) facts.push(JSON.parse(line) as StoreWorker["facts"][number]);
  });
  const exit = once(child, "close").then(([code]) => code as number | null);
  return {
    facts,
    exit,
    says: () => Promise.race([once(lines, "line"), exit]),
    async kill() {
      child.kill("SIGKILL");
      await exit;
    },
  };
}

const ID: UnitId = { owner: "local", name: "memo.create" };

/** Any text may be an owner or a name. */
const HOSTILE = [
  "..",
  ".",
  "../../etc/passwd",
  "/etc",
  "a/b",
  "a\\b",
  "nul\0byte",
  "line\nbreak",
  ".belljar",
  ".git",
  "a@b",
  "a~b",
  "-rf",
  " ",
  "%2e%2e",
  "https://issuer.example/users/1#x",
  "Łódź",
  "🦄",
  "Weather",
  "weather",
  "__proto__",
  "x".repeat(255),
  "x".repeat(256),
  "ü".repeat(500),
  "a'; DROP TABLE units; --",
];

export function unitStoreContract(make: () => Promise<StorePlace>): void {
  describe("a store of units", () => {
    it("gives back what was written, also to a store that is opened later", async () => {
      await using place = await make();
      const added = versionOf(1);
      const head: UnitHead = { ...nextHead(ID, undefined, added), live: 1, isShared: true };
      {
        await using store = await place.open();
        expect(await store.heads()).toEqual([]);
        expect(await store.head(ID.owner, ID.name)).toBeUndefined();
        await store.write(head, 0, added);
      }
      await using store = await place.open();
      expect(await store.heads()).toEqual([head]);
      expect(await store.head(ID.owner, ID.name)).toEqual(head);
      expect(await store.version(ID.owner, ID.name, 1)).toEqual(added);
      expect(await store.version(ID.owner, ID.name, 2)).toBeUndefined();
      expect(await store.version("other", ID.name, 1)).toBeUndefined();
    });

    it("refuses a write and a removal that were decided on an older revision", async () => {
      await using place = await make();
      await using store = await place.open();
      const first = await publish(store, ID);
      const second = await publish(store, ID);
      const stale = versionOf(2, { ...SPEC, code: "stale = 1" });
      await expect(store.write(nextHead(ID, first, stale), first.revision, stale)).rejects.toMatchObject({ code: "TOOL_CONFLICT" });
      await expect(store.write(nextHead(ID, undefined, versionOf(1)), 0, versionOf(1))).rejects.toMatchObject({ code: "TOOL_CONFLICT" });
      await expect(store.remove(ID.owner, ID.name, first.revision)).rejects.toMatchObject({ code: "TOOL_CONFLICT" });
      await expect(store.remove("other", ID.name, 1)).rejects.toMatchObject({ code: "TOOL_CONFLICT" });
      expect(await store.head(ID.owner, ID.name)).toEqual(second);
      expect(await store.version(ID.owner, ID.name, 2)).toEqual(versionOf(2));
    });

    it("refuses a head that does not follow, and one that names a version that it has not", async () => {
      await using place = await make();
      await using store = await place.open();
      const head = await publish(store, ID);
      const invalid = { code: "ARGUMENTS_INVALID" };
      await expect(store.write({ ...head, revision: 7 }, 1)).rejects.toMatchObject(invalid);
      await expect(store.write(nextHead(ID, head, versionOf(2)), 1)).rejects.toMatchObject(invalid);
      await expect(store.write(nextHead(ID, head), 1, versionOf(2))).rejects.toMatchObject(invalid);
      await expect(store.write({ ...nextHead(ID, head), name: "" }, 1)).rejects.toMatchObject(invalid);
      expect(await store.heads()).toEqual([head]);
    });

    it("keeps the versions that the head names, and removes the others", async () => {
      await using place = await make();
      await using store = await place.open();
      for (let count = 0; count < 3; count += 1) await publish(store, ID);
      const head = await store.head(ID.owner, ID.name);
      await store.write({ ...nextHead(ID, head), versions: head?.versions.slice(1) ?? [], live: 2 }, 3);
      expect(await store.version(ID.owner, ID.name, 1)).toBeUndefined();
      expect(await store.version(ID.owner, ID.name, 2)).toEqual(versionOf(2));
      expect((await store.head(ID.owner, ID.name))?.live).toBe(2);
    });

    it("takes a name again after its unit was removed", async () => {
      await using place = await make();
      await using store = await place.open();
      await publish(store, ID);
      await store.remove(ID.owner, ID.name, 1);
      expect(await store.heads()).toEqual([]);
      expect(await store.head(ID.owner, ID.name)).toBeUndefined();
      expect(await store.version(ID.owner, ID.name, 1)).toBeUndefined();
      await expect(store.remove(ID.owner, ID.name, 1)).rejects.toMatchObject({ code: "TOOL_CONFLICT" });
      const again = await publish(store, ID, { language: "shell", code: "echo again" });
      expect(await store.heads()).toEqual([again]);
      expect((await store.version(ID.owner, ID.name, 1))?.spec.code).toBe("echo again");
    });

    it("lets one of 20 writers of a revision through", async () => {
      await using place = await make();
      await using one = await place.open();
      await using two = await place.open();
      const specs = Array.from({ length: 20 }, (_, index) => ({ ...SPEC, code: `writer = ${index}` }));
      const head = nextHead(ID, undefined, versionOf(1));
      const results = await Promise.allSettled(specs.map((spec, index) => (index % 2 ? one : two).write(head, 0, versionOf(1, spec))));
      const winners = specs.filter((_, index) => results[index]?.status === "fulfilled");
      expect(winners).toHaveLength(1);
      for (const result of results.filter(({ status }) => status === "rejected"))
        expect(result).toMatchObject({ reason: { code: "TOOL_CONFLICT" } });
      expect((await two.version(ID.owner, ID.name, 1))?.spec).toEqual(winners[0]);
    });

    it("does the work of one owner alone, and that of others beside it", async () => {
      await using place = await make();
      await using one = await place.open();
      await using two = await place.open();
      let atWork = 0;
      const most: number[] = [];
      const work = async (): Promise<void> => {
        most.push((atWork += 1));
        await one.heads();
        await new Promise((resolve) => setImmediate(resolve));
        atWork -= 1;
      };
      await Promise.all(Array.from({ length: 12 }, (_, index) => (index % 2 ? one : two).alone(ID.owner, work)));
      expect(most).toEqual(Array.from({ length: 12 }, () => 1));
      await expect(one.alone(ID.owner, () => Promise.reject(new TypeError("fails")))).rejects.toThrow("fails");
      expect(await two.alone(ID.owner, () => one.alone("other", async () => "beside"))).toBe("beside");
      const waiting = new AbortController();
      await one.alone(ID.owner, async () => {
        const given = expect(one.alone(ID.owner, () => Promise.reject(new TypeError("begun")), waiting.signal)).rejects.toThrow("given up");
        waiting.abort(new Error("given up"));
        await given;
      });
    });

    it("loses no change of two processes that change one unit", async () => {
      await using place = await make();
      const workers = [startStoreWorker("count", place, { count: 15 }), startStoreWorker("count", place, { count: 15 })];
      expect(await Promise.all(workers.map(({ exit }) => exit))).toEqual([0, 0]);
      expect(workers.flatMap(({ facts }) => facts)).toEqual([]);
      await using store = await place.open();
      const head = await store.head("local", "shared");
      expect([head?.revision, head?.versions.map(({ number }) => number)]).toEqual([30, [28, 29, 30]]);
      for (const number of [28, 29, 30]) expect((await store.version("local", "shared", number))?.spec.timeoutMs).toBe(number);
    });

    it("has the old or the new after a process was killed at any moment", async () => {
      await using place = await make();
      for (let round = 0; round < 6; round += 1) {
        const worker = startStoreWorker("publish", place);
        for (let lines = 0; lines <= round * 2; lines += 1) await worker.says();
        await worker.kill();
        await using store = await place.open();
        const head = await store.head("local", "shared");
        const acknowledged = worker.facts.at(-1)?.wrote;
        expect(worker.facts.flatMap(({ failed }) => failed ?? [])).toEqual([]);
        expect(head?.revision).toBeGreaterThanOrEqual(acknowledged?.revision ?? Infinity);
        expect(head?.revision).toBeLessThanOrEqual((acknowledged?.revision ?? 0) + 1);
        for (const { number } of head?.versions ?? [])
          expect((await store.version("local", "shared", number))?.spec.timeoutMs).toBe(number);
      }
    });

    it("keeps apart owners and names of any characters", async () => {
      await using place = await make();
      await using store = await place.open();
      const ids = HOSTILE.flatMap((text) => [
        { owner: text, name: "weather" },
        { owner: "local", name: text },
      ]);
      const unlike = new Map(ids.map((id) => [JSON.stringify(id), id]));
      for (const id of unlike.values()) await publish(store, id, { language: "shell", code: JSON.stringify(id) });
      await using other = await place.open();
      const heads = await other.heads();
      expect(heads.map(({ owner, name }) => JSON.stringify({ owner, name })).toSorted()).toEqual([...unlike.keys()].toSorted());
      for (const { owner, name } of unlike.values())
        expect((await other.version(owner, name, 1))?.spec.code).toBe(JSON.stringify({ owner, name }));
    });

    it("reads the heads of 1,000 units", async () => {
      await using place = await make();
      await using store = await place.open();
      const names = Array.from({ length: 1_000 }, (_, index) => `unit-${index}`);
      await mapLimit(names, 32, (name) => publish(store, { owner: `owner-${name.length}`, name }));
      await using other = await place.open();
      expect((await other.heads()).map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    });

    it("tells of the changes of this store, of another one and of another process", async () => {
      await using place = await make();
      await using store = await place.open();
      await using other = await place.open();
      const told = watchChanges(store.onChange.bind(store));
      const head = await publish(store, ID);
      await told.until(ID);
      await other.write({ ...nextHead(ID, head), isDisabled: true }, head.revision);
      await told.until(ID);
      expect(await startStoreWorker("add", place, { name: "elsewhere" }).exit).toBe(0);
      await told.until({ owner: "local", name: "elsewhere" });
      await other.remove(ID.owner, ID.name, 2);
      await told.until(ID);
      expect(await store.head(ID.owner, ID.name)).toBeUndefined();
      told.stop();
    });
  });
}

/** What a listener was told. */
export function watchChanges(on: (listener: (changed: UnitId | undefined) => void) => () => void) {
  const told: string[] = [];
  let wake: () => void = () => undefined;
  const stop = on((changed) => {
    told.push(JSON.stringify(changed ?? null));
    wake();
  });
  return {
    told,
    stop,
    /** Resolves once this unit is told, and forgets all that was told until then. */
    async until({ owner, name }: UnitId): Promise<void> {
      while (!told.includes(JSON.stringify({ owner, name }))) await new Promise<void>((resolve) => (wake = resolve));
      told.length = 0;
    },
  };
}
