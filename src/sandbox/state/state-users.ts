import type { Journal } from "../journal.ts";
import type { RunStates } from "../run-states.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import type { HomeTemplates } from "../template-source.ts";
import type { CheckpointFiles } from "./checkpoint-files.ts";
import type { SnapshotFiles } from "./snapshot-files.ts";
import type { WorkLock } from "./work-lock.ts";

const SNAPSHOT = /^snapshot-([a-z0-9]{20})$/;
const CHECKPOINT = /^checkpoint-([a-z0-9]{20})-([a-z0-9]{8})$/;
const ROLLBACK = /^rollback-([a-z0-9]{20})$/;
const ORIGIN = /^origin-([a-z0-9]{20})$/;
/** A template, or a step of a build that is kept for the next one. */
const TEMPLATE = /^(?:template|step)-([a-z0-9]{20})$/;
const SANDBOX = /^(?:sandbox-)?([a-z0-9]{20})$/;

/** The user of the layers that a sandbox began with. */
export function originUser({ id }: Pick<SandboxRecord, "id">): string {
  return `origin-${id}`;
}

export interface StateUsersOptions {
  readonly journal: Journal;
  readonly lock: WorkLock;
  readonly checkpoints: CheckpointFiles;
  readonly snapshots: SnapshotFiles;
  readonly states: RunStates;
  /** Absent: all templates stand for something. */
  readonly templates: Pick<HomeTemplates, "isUser"> | undefined;
}

/** Whether a name that layers have as their user still stands for something. Whatever this release does not know does. */
export class StateUsers {
  readonly #options: StateUsersOptions;

  constructor(options: StateUsersOptions) {
    this.#options = options;
  }

  async isUser(user: string): Promise<boolean> {
    const [, snapshot] = SNAPSHOT.exec(user) ?? [];
    if (snapshot !== undefined) return this.#options.snapshots.isUser(snapshot);
    const [, sandbox, checkpoint] = CHECKPOINT.exec(user) ?? [];
    if (sandbox !== undefined && checkpoint !== undefined) return this.#isCheckpoint(user, sandbox, checkpoint);
    const [, rolledBack] = ROLLBACK.exec(user) ?? [];
    if (rolledBack !== undefined) return this.#isRollback(user, rolledBack);
    const [, begun] = ORIGIN.exec(user) ?? [];
    if (begun !== undefined) return this.#lives(begun);
    const [, template] = TEMPLATE.exec(user) ?? [];
    if (template !== undefined) return (await this.#options.templates?.isUser(template)) ?? true;
    const [, own] = SANDBOX.exec(user) ?? [];
    return own === undefined || this.#isSandbox(own);
  }

  /** Whoever takes a checkpoint has the lock until it is written. So the lock is looked at first. */
  async #isCheckpoint(user: string, sandbox: string, checkpoint: string): Promise<boolean> {
    const { lock, checkpoints } = this.#options;
    if (!(await this.#lives(sandbox))) return false;
    return (await lock.find(sandbox))?.user === user || checkpoints.has(sandbox, checkpoint);
  }

  async #isRollback(user: string, sandbox: string): Promise<boolean> {
    const { lock, states } = this.#options;
    if (!(await this.#lives(sandbox))) return false;
    return (await lock.find(sandbox))?.user === user || (await states.find(sandbox))?.rewind !== undefined;
  }

  /** Its layers are used until all that it wrote is removed. */
  async #isSandbox(id: string): Promise<boolean> {
    const { journal } = this.#options;
    const entry = await journal.read(id);
    return entry ? entry.end?.isCleared !== true : (await journal.changedAt(id)) !== undefined;
  }

  /** One whose record cannot be read may live. */
  async #lives(id: string): Promise<boolean> {
    const { journal } = this.#options;
    const entry = await journal.read(id);
    return entry ? entry.end === undefined : (await journal.changedAt(id)) !== undefined;
  }
}
