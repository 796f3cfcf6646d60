import { createSandboxId } from "../sandbox-id.ts";
import { unknown } from "../refusals.ts";
import { freezeSandbox } from "./freeze-sandbox.ts";
import { type SnapshotParts, toStored } from "./home-snapshots.ts";
import { layersOf, type SnapshotRecord, userOf } from "./snapshot-record.ts";
import { needStates } from "./state-errors.ts";

export interface HiddenSnapshot {
  readonly id: string;
  readonly name: string;
}

/** Called when nobody can begin with the snapshot any more, and before its layers go. Must not reject. */
export type SnapshotRetired = (record: SnapshotRecord) => Promise<void>;

/**
 * Frozen files of hidden sandboxes. They are in no list of a principal, found by no id or name that a principal gives, and count to nobody's
 * quota: `CreateOptions.hiddenSnapshot` alone reaches them, which no client can say.
 */
export interface HiddenSnapshots {
  /** Freezes what a hidden sandbox has written. It is on disk before the answer, which is its id. Rejects as `Snapshots.create`. */
  create(sandbox: string, name: string, signal: AbortSignal): Promise<string>;
  /** Those of the home, whichever process made them. */
  list(): Promise<readonly HiddenSnapshot[]>;
  has(id: string): Promise<boolean>;
  /** Sandboxes that were made from it keep what they have of it; those that still wait end. Resolves also if there is none. */
  remove(id: string): Promise<void>;
}

export class HomeHiddenSnapshots implements HiddenSnapshots {
  readonly #parts: SnapshotParts;
  readonly #retired: SnapshotRetired;

  constructor(parts: SnapshotParts, retired: SnapshotRetired) {
    this.#parts = parts;
    this.#retired = retired;
  }

  async create(sandbox: string, name: string, signal: AbortSignal): Promise<string> {
    const { records, snapshots } = this.#parts;
    const record = (await records.journal.read(sandbox))?.record;
    if (!record?.isHidden) throw unknown(sandbox);
    const id = createSandboxId();
    await snapshots.begin({ id, owner: "" });
    try {
      return await freezeSandbox(this.#parts, { record, user: userOf({ id }), durable: true, isOwn: false, signal }, async (frozen) => {
        await snapshots.commit({ ...toStored(id, record, frozen, { name }), isHidden: true });
        return id;
      });
    } catch (cause) {
      await snapshots.forget(id);
      throw cause;
    }
  }

  async list(): Promise<readonly HiddenSnapshot[]> {
    const records = await this.#parts.snapshots.list();
    return records.flatMap(({ id, name, isHidden }) => (isHidden && name !== undefined ? [{ id, name }] : []));
  }

  async remove(id: string): Promise<void> {
    const { snapshots, runtimes } = this.#parts;
    const record = await this.find(id);
    if (!record || !(await snapshots.retract(id))) return;
    await this.#retired(record);
    await needStates(runtimes.need({ id: record.sandbox, runtime: record.runtime })).letGo(layersOf(record), userOf(record));
    await snapshots.forget(id);
  }

  async has(id: string): Promise<boolean> {
    return (await this.find(id)) !== undefined;
  }

  async find(id: string): Promise<SnapshotRecord | undefined> {
    const record = await this.#parts.snapshots.find(id);
    return record?.isHidden ? record : undefined;
  }
}
