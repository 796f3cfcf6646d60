import type { Principal } from "../principal.ts";
import type { Volume } from "./volume.ts";
import type { VolumeFiles } from "./volume-files.ts";

export type { Volume } from "./volume.ts";
export type { VolumeEntry, VolumeFiles, VolumeMetadata } from "./volume-files.ts";

/**
 * The volumes of a home, seen by one principal at a time: folders that outlive sandboxes, and that several sandboxes of their owner see at once. A
 * volume of another owner, or of another project for a principal that sees its own alone, answers exactly as an unknown one.
 */
export interface Volumes {
  /** Rejects with `VOLUME_NAME_TAKEN`, `ARGUMENTS_INVALID`, `QUOTA_EXCEEDED`, and `NOT_SUPPORTED` by a runtime whose sandboxes share nothing. */
  create(principal: Principal, wish: VolumeWish): Promise<Volume>;
  /** By name. */
  list(principal: Principal): Promise<readonly Volume[]>;
  /** By its id or its name. Rejects with `VOLUME_NOT_FOUND`. */
  get(principal: Principal, text: string): Promise<Volume>;
  /** By the id and whoever owns it, for who holds its token: the caller must ask for that. Rejects with `VOLUME_NOT_FOUND`. */
  getLinked(id: string): Promise<Volume>;
  /** With all of its files. Rejects with `VOLUME_IN_USE` while a sandbox has it that has not ended, and with `VOLUME_NOT_FOUND`. */
  remove(principal: Principal, text: string): Promise<void>;
  files(volume: Volume): Promise<VolumeFiles>;
}

export interface VolumeWish {
  readonly name: string;
  /** See `Volume.quotaBytes`. */
  readonly quotaBytes: number;
}
