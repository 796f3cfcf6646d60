import { BelljarError } from "../../src/errors.ts";
import type { ForkSource, Principal, Sandbox, Sandboxes, Snapshots, TimeLine } from "../../src/sandbox/sandbox.ts";
import type { ChangedPaths, Checkpoint, PointChange, SnapshotInfo } from "../../src/sandbox/wire/state-schemas.ts";

/** The regular files of a sandbox's home, by their absolute paths. */
type Files = ReadonlyMap<string, string>;

interface Line {
  readonly checkpoints: Checkpoint[];
  readonly states: Map<string, Files>;
  head: string | undefined;
}

const soon = (): AbortSignal => AbortSignal.timeout(10_000);
const FROZEN = { way: "copy", copyReason: "programs", stillMs: 0.25 } as const;

/**
 * The same sandboxes, with snapshots and time lines that lie in this process's memory, for surfaces on runtimes that freeze nothing. They
 * hold the text files of the home, check the owner, and no more.
 */
export function withMemoryStates<Home extends Sandboxes>(sandboxes: Home): Home {
  const states = new MemoryStates(sandboxes);
  const own: Partial<Sandboxes> = {
    snapshots: states.snapshots,
    create: async (...args) => states.dress(await sandboxes.create(...args)),
    get: async (...args) => states.dress(await sandboxes.get(...args)),
    async getStarted(...args) {
      const found = await sandboxes.getStarted(...args);
      return { ...found, sandbox: states.dress(found.sandbox) };
    },
    async default(...args) {
      const found = await sandboxes.default(...args);
      return { ...found, sandbox: states.dress(found.sandbox) };
    },
  };
  return new Proxy(sandboxes, {
    get(target, name) {
      const value: unknown = Reflect.get(own, name) ?? Reflect.get(target, name);
      return typeof value === "function" && !(name in own) ? value.bind(target) : value;
    },
  });
}

class MemoryStates {
  readonly #sandboxes: Sandboxes;
  readonly #lines = new Map<string, Line>();
  readonly #snapshots = new Map<string, { readonly info: SnapshotInfo; readonly files: Files }>();
  /** What a fork began with. */
  readonly #origins = new Map<string, Files>();
  #count = 0;

  constructor(sandboxes: Sandboxes) {
    this.#sandboxes = sandboxes;
  }

  get snapshots(): Snapshots {
    return {
      create: async (principal, id, options) => {
        const sandbox = await this.#sandboxes.get(principal, id);
        const { owner, runtime, template } = await sandbox.info();
        if ([...this.#snapshots.values()].some(({ info }) => options.name !== undefined && info.name === options.name))
          throw new BelljarError("SNAPSHOT_NAME_TAKEN", `There is a snapshot "${options.name}" already: choose another name`);
        const info = { id: this.#id(20), ...options, owner, runtime, template, sandbox: sandbox.id, createdAt: new Date(), ...FROZEN };
        this.#snapshots.set(info.id, { info, files: await readFiles(sandbox) });
        return info;
      },
      list: async ({ id }, { sandbox } = {}) =>
        [...this.#snapshots.values()]
          .map(({ info }) => info)
          .filter((info) => info.owner === id && (sandbox ?? info.sandbox) === info.sandbox)
          .toReversed(),
      info: async (principal, id) => this.#snapshot(principal, id).info,
      remove: async (principal, id) => void this.#snapshots.delete(this.#snapshot(principal, id).info.id),
      fork: async (principal, from, { count = 1, ...options }, signal) => {
        const files = await this.#filesOf(principal, from);
        const made: Sandbox[] = [];
        for (let index = 0; index < count; index += 1) {
          const sandbox = this.dress(await this.#sandboxes.create(principal, options, signal));
          await writeFiles(sandbox, files);
          this.#origins.set(sandbox.id, files);
          made.push(sandbox);
        }
        return Object.assign(made, { lost: [] });
      },
    };
  }

  dress(sandbox: Sandbox): Sandbox {
    const timeLine = this.#timeLine(sandbox);
    return new Proxy(sandbox, {
      get(target, name) {
        const value: unknown = name === "timeLine" ? timeLine : Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  #timeLine(sandbox: Sandbox): TimeLine {
    const line = this.#lines.get(sandbox.id) ?? { checkpoints: [], states: new Map<string, Files>(), head: undefined };
    this.#lines.set(sandbox.id, line);
    const at = (point: string): Files => {
      const files = line.states.get(point) ?? this.#snapshots.get(point)?.files;
      if (!files)
        throw new BelljarError("CHECKPOINT_NOT_FOUND", `No checkpoint "${point}" in sandbox ${sandbox.id}: belljar log shows them`);
      return files;
    };
    return {
      list: async () => ({ checkpoints: line.checkpoints, ...(line.head !== undefined && { head: line.head }) }),
      checkpoint: async (options) => {
        const parent = line.head === undefined ? {} : { parent: line.head };
        const taken = { id: this.#id(8), ...options, ...parent, createdAt: new Date(), ...FROZEN };
        line.states.set(taken.id, await readFiles(sandbox));
        line.checkpoints.push(taken);
        line.head = taken.id;
        return taken;
      },
      rollback: async (point) => {
        await writeFiles(sandbox, at(point));
        line.head = point;
        return { checkpoint: point, ended: ["context python"], lost: [], sandbox: this.dress(sandbox) };
      },
      remove: async (id) => {
        at(id);
        line.states.delete(id);
        line.checkpoints.splice(0, Infinity, ...line.checkpoints.filter((one) => one.id !== id));
      },
      diff: async ({ from, to, paths }) => {
        const changes = compare(at(from), to === undefined ? await readFiles(sandbox) : at(to));
        return { changes: changes.filter(({ path }) => isBelow(path, paths)), omitted: 0 };
      },
      undo: async (to, paths) => takeOver(sandbox, { base: await readFiles(sandbox), theirs: at(to), paths }),
      merge: async (from, paths) =>
        takeOver(sandbox, { base: this.#origins.get(from.id) ?? new Map<string, string>(), theirs: await readFiles(from), paths }),
    };
  }

  #snapshot({ id: owner }: Principal, id: string): { readonly info: SnapshotInfo; readonly files: Files } {
    const found = [...this.#snapshots.values()].find(({ info }) => info.owner === owner && (info.id === id || info.name === id));
    if (!found) throw new BelljarError("SNAPSHOT_NOT_FOUND", `No snapshot "${id}": belljar snapshot list shows them`);
    return found;
  }

  async #filesOf(principal: Principal, from: ForkSource): Promise<Files> {
    if ("snapshot" in from) return this.#snapshot(principal, from.snapshot).files;
    return readFiles(await this.#sandboxes.get(principal, from.sandbox));
  }

  #id(length: number): string {
    return (this.#count += 1).toString(36).padStart(length, "s");
  }
}

async function readFiles({ guest: { files }, inside }: Sandbox): Promise<Files> {
  const found = new Map<string, string>();
  for await (const { path, type } of files.list(inside.home, { signal: soon(), depth: 10 }))
    if (type === "file") found.set(`${inside.home}/${path}`, (await files.read(`${inside.home}/${path}`, { signal: soon() })).toString());
  return found;
}

async function writeFiles(sandbox: Sandbox, wanted: Files): Promise<void> {
  const { files } = sandbox.guest;
  for (const { path, kind } of compare(await readFiles(sandbox), wanted)) {
    if (kind === "removed") await files.remove(path, { signal: soon() });
    else await files.write(path, wanted.get(path) ?? "", { signal: soon() });
  }
}

function compare(before: Files, after: Files): readonly PointChange[] {
  return [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((path) => {
    const [old, now] = [before.get(path), after.get(path)];
    if (old === now) return [];
    const patch = `--- a${path}\n+++ b${path}\n@@ -1 +1 @@\n${old === undefined ? "" : `-${old}`}${now === undefined ? "" : `+${now}`}`;
    return [{ path, kind: old === undefined ? "added" : now === undefined ? "removed" : "changed", type: "file", patch } as const];
  });
}

interface Taking {
  readonly base: Files;
  readonly theirs: Files;
  readonly paths: readonly string[] | undefined;
}

async function takeOver(sandbox: Sandbox, { base, theirs, paths }: Taking): Promise<ChangedPaths> {
  const ours = await readFiles(sandbox);
  const wanted = compare(base, theirs).filter(({ path }) => isBelow(path, paths) && ours.get(path) !== theirs.get(path));
  const conflicts = wanted.filter(({ path }) => ours.get(path) !== base.get(path)).map(({ path }) => ({ path, reason: "both changed it" }));
  const changed = wanted.map(({ path }) => path).filter((path) => !conflicts.some((conflict) => conflict.path === path));
  const next = new Map(ours);
  for (const path of changed) {
    const text = theirs.get(path);
    if (text === undefined) next.delete(path);
    else next.set(path, text);
  }
  await writeFiles(sandbox, next);
  return { changed, conflicts };
}

function isBelow(path: string, paths: readonly string[] | undefined): boolean {
  return paths === undefined || paths.some((one) => path === one || path.startsWith(`${one}/`));
}
