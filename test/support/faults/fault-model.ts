import { ok } from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Done, Outcome, Seen, SeenSandbox } from "./fault-worker.ts";
import type { Content, ForkFrom, Operation } from "./operation.ts";

const SANDBOXES_MAX = 4;
const POINTS_MAX = 4;
const SNAPSHOTS_MAX = 4;
const EMPTY: Content = { notes: "", extra: "" };

interface KnownSandbox {
  readonly content: Content;
  readonly state: "running" | "stopped";
  /** Its run may be the first one, which ends with its keeper, and whose files are removed then. */
  readonly isFirstRun: boolean;
  readonly points: ReadonlyMap<string, Content>;
}

/**
 * What must be true of a home whatever was killed. An operation that was acknowledged has happened. One that was not has happened, or has
 * not. `check` compares that with what a new process sees, and takes over which of the two it was.
 */
export class FaultModel {
  readonly sandboxes = new Map<string, KnownSandbox>();
  readonly snapshots = new Map<string, Content>();
  /** All that ever were, for traces. */
  readonly ids = new Set<string>();
  /** Those that ended in the middle of an operation, which may have made something of them before. */
  readonly #gone = new Map<string, KnownSandbox>();
  #pending: Operation | undefined;
  #keeperKilled: string | undefined;
  #count = 0;
  readonly #filling: string;

  /** `filling`: what makes each text longer. */
  constructor(filling = "") {
    this.#filling = filling;
  }

  /** An operation that is possible now. */
  choose(random: () => number): Operation {
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
    const ids = [...this.sandboxes.keys()];
    if (ids.length === 0) return { kind: "create" };
    const id = pick(ids);
    const known = this.#known(id);
    const points = [...known.points.keys()];
    const snapshots = [...this.snapshots.keys()];
    const text = `text-${(this.#count += 1)}${this.#filling}`;
    if (points.length > POINTS_MAX) return { kind: "removePoint", id, point: pick(points) };
    if (snapshots.length > SNAPSHOTS_MAX) return { kind: "removeSnapshot", snapshot: pick(snapshots) };
    if (ids.length > SANDBOXES_MAX) return { kind: "kill", id };
    // What its first run has written ends with its keeper. So few stay in that.
    if (known.isFirstRun && random() < 0.5) return { kind: "stop", id };
    const from: ForkFrom = snapshots.length > 0 && random() < 0.5 ? { snapshot: pick(snapshots) } : { sandbox: id };
    const operations: Operation[] = [
      { kind: "create" },
      { kind: "write", id, text },
      { kind: "write", id, text },
      { kind: "checkpoint", id },
      { kind: "checkpoint", id },
      { kind: "snapshot", id, ...(random() < 0.5 && { name: `name-${this.#count}` }) },
      { kind: "snapshot", id },
      { kind: "fork", from, count: 1 + Math.floor(random() * 2) },
      { kind: "merge", id, text },
      known.state === "running" ? { kind: "stop", id } : { kind: "start", id },
      { kind: "kill", id },
    ];
    const point = pick(points);
    if (points.length > 0)
      operations.push({ kind: "rollback", id, point }, { kind: "rollback", id, point }, { kind: "undo", id, point }, { kind: "removePoint", id, point }); // prettier-ignore
    if (snapshots.length > 0) operations.push({ kind: "removeSnapshot", snapshot: pick(snapshots) });
    return pick(operations);
  }

  /** The sandbox whose files have to be read now: it is not known what became of the last operation. */
  get unsure(): readonly string[] {
    const target = this.#pending && FaultModel.target(this.#pending);
    return target === undefined ? [] : [target];
  }

  /** The sandbox that an operation works on. */
  static target(operation: Operation): string | undefined {
    if ("id" in operation) return operation.id;
    return operation.kind === "fork" && "sandbox" in operation.from ? operation.from.sandbox : undefined;
  }

  /** `keeper`: the sandbox whose keeper was killed. */
  settle(operation: Operation, outcome: Outcome, keeper: string | undefined): void {
    this.#keeperKilled = keeper;
    this.#pending = undefined;
    if (outcome !== "unknown" && "done" in outcome) return this.#apply(operation, outcome.done);
    // Without a fault on its sandbox nothing fails.
    ok(outcome === "unknown" || keeper !== undefined, `${JSON.stringify(operation)}: ${JSON.stringify(outcome)}`);
    this.#pending = operation;
  }

  check(seen: Seen): void {
    const found = new Map(seen.sandboxes.map((one) => [one.id, one]));
    for (const id of this.sandboxes.keys()) this.#checkSandbox(id, found.get(id));
    for (const one of seen.sandboxes) if (!this.sandboxes.has(one.id)) this.#adopt(one);
    this.#checkSnapshots(seen.snapshots);
    this.#pending = this.#keeperKilled = undefined;
  }

  #known(id: string): KnownSandbox {
    const known = this.sandboxes.get(id) ?? this.#gone.get(id);
    if (!known) throw new Error(`Nothing is known of sandbox ${id}`);
    return known;
  }

  #change(id: string, change: Partial<KnownSandbox>): void {
    this.sandboxes.set(id, { ...this.#known(id), ...change });
  }

  #apply(operation: Operation, done: Done): void {
    if (operation.kind === "removeSnapshot") this.snapshots.delete(operation.snapshot);
    for (const id of done.made ?? []) this.#make(id, this.#madeContent(operation));
    if (!("id" in operation)) return;
    const { id } = operation;
    const { content, points } = this.#known(id);
    if (done.snapshot !== undefined) this.snapshots.set(done.snapshot, content);
    if (done.point !== undefined) this.#change(id, { points: new Map([...points, [done.point, content]]) });
    if (operation.kind === "removePoint") this.#change(id, { points: without(points, operation.point) });
    if (operation.kind === "kill") this.sandboxes.delete(id);
    else this.#change(id, { content: this.#after(operation, id), ...this.#stateAfter(operation) });
  }

  #stateAfter({ kind }: Operation): Partial<KnownSandbox> {
    if (kind === "stop") return { state: "stopped", isFirstRun: false };
    if (kind === "start" || kind === "rollback") return { state: "running", isFirstRun: false };
    return kind === "write" || kind === "undo" || kind === "merge" ? { state: "running" } : {};
  }

  /** The content of a sandbox once the operation has happened. */
  #after(operation: Operation, id: string): Content {
    const { content, points } = this.#known(id);
    if (!("id" in operation) || operation.id !== id) return content;
    const point = "point" in operation ? (points.get(operation.point) ?? content) : content;
    if (operation.kind === "write") return { ...content, notes: operation.text };
    if (operation.kind === "merge") return { ...content, extra: operation.text };
    if (operation.kind === "rollback") return point;
    return operation.kind === "undo" ? { ...content, notes: point.notes } : content;
  }

  /** The content that a sandbox which the operation makes begins with. */
  #madeContent(operation: Operation): Content {
    if (operation.kind === "merge") return this.#after(operation, operation.id);
    if (operation.kind !== "fork") return EMPTY;
    return "sandbox" in operation.from
      ? this.#known(operation.from.sandbox).content
      : (this.snapshots.get(operation.from.snapshot) ?? EMPTY);
  }

  #make(id: string, content: Content): void {
    this.ids.add(id);
    this.sandboxes.set(id, { content, state: "running", isFirstRun: true, points: new Map() });
  }

  #checkSandbox(id: string, seen: SeenSandbox | undefined): void {
    const pending = this.#pending;
    const known = this.#known(id);
    const isHit = this.#keeperKilled === id;
    const isPending = pending !== undefined && FaultModel.target(pending) === id;
    if (!seen) {
      ok((isPending && pending.kind === "kill") || (isHit && known.isFirstRun), `${id} is gone`);
      this.#gone.set(id, known);
      this.sandboxes.delete(id);
      return;
    }
    ok(isHit || isPending || seen.state === known.state, `${id} is ${seen.state}, and was ${known.state}`);
    const may = isPending ? [known.content, this.#after(pending, id)] : [known.content];
    ok(!seen.content || isOneOf(seen.content, may), `${id} has ${JSON.stringify(seen.content)}, and may have ${JSON.stringify(may)}`);
    const isRead = seen.content !== undefined;
    this.#change(id, {
      ...(seen.content && { content: seen.content }),
      points: this.#checkPoints(known, seen, isPending ? pending : undefined),
      state: isRead ? "running" : "stopped",
      isFirstRun: known.isFirstRun && seen.state !== "stopped",
    });
  }

  #checkPoints({ points, content }: KnownSandbox, seen: SeenSandbox, pending: Operation | undefined): ReadonlyMap<string, Content> {
    const mayGo = pending?.kind === "removePoint" ? pending.point : undefined;
    const missing = [...points.keys()].filter((point) => point !== mayGo && !seen.points.includes(point));
    const more = seen.points.filter((point) => !points.has(point));
    ok(missing.length === 0, `${seen.id} has lost checkpoints: ${missing.join(", ")}`);
    ok(more.length <= (pending?.kind === "checkpoint" ? 1 : 0), `${seen.id} has checkpoints that nobody took: ${more.join(", ")}`);
    return new Map(seen.points.map((point) => [point, points.get(point) ?? content]));
  }

  /** One that a killed process had made, and told nobody of. */
  #adopt(seen: SeenSandbox): void {
    const pending = this.#pending;
    const makes = pending?.kind === "create" || pending?.kind === "fork" || pending?.kind === "merge";
    ok(makes, `${seen.id} appeared by itself`);
    const before = pending?.kind === "merge" ? this.#known(pending.id).content : EMPTY;
    ok(!pending || isOneOf(seen.content, [before, this.#madeContent(pending)]), `${seen.id} has ${JSON.stringify(seen.content)}`);
    this.#make(seen.id, seen.content ?? EMPTY);
  }

  #checkSnapshots(seen: readonly string[]): void {
    const pending = this.#pending;
    const mayGo = pending?.kind === "removeSnapshot" ? pending.snapshot : undefined;
    const missing = [...this.snapshots.keys()].filter((id) => id !== mayGo && !seen.includes(id));
    const more = seen.filter((id) => !this.snapshots.has(id));
    ok(missing.length === 0, `snapshots are lost: ${missing.join(", ")}`);
    ok(more.length <= (pending?.kind === "snapshot" ? 1 : 0), `snapshots that nobody took: ${more.join(", ")}`);
    if (mayGo !== undefined && !seen.includes(mayGo)) this.snapshots.delete(mayGo);
    for (const id of more) if (pending?.kind === "snapshot") this.snapshots.set(id, this.#known(pending.id).content);
  }
}

function isOneOf(content: Content | undefined, may: readonly Content[]): boolean {
  return may.some((one) => isDeepStrictEqual(one, content));
}

function without<V>(map: ReadonlyMap<string, V>, key: string): ReadonlyMap<string, V> {
  return new Map([...map].filter(([one]) => one !== key));
}
