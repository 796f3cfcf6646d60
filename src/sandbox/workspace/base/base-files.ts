import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ifPresent } from "../../../files/file-error.ts";
import type { BaseAnswer, WorkspaceBase } from "./base-entry.ts";
import { readManifest } from "./manifest-file.ts";
import { readText } from "./text-pack.ts";

/** Where a sandbox's folder of the home says how its workspace began. */
export interface BaseFiles {
  /** An empty file, whose time is that of the host's files when the sandbox was made. */
  readonly started: string;
  readonly manifest: string;
  readonly texts: string;
}

export function baseFilesIn(folder: string): BaseFiles {
  return {
    started: join(folder, "workspace.started"),
    manifest: join(folder, "workspace.base"),
    texts: join(folder, "workspace.texts"),
  };
}

export function openBase(folder: string): WorkspaceBase {
  const files = baseFilesIn(folder);
  return {
    async workspaceBase(keys): Promise<BaseAnswer> {
      const started = await ifPresent(files.started, stat(files.started, { bigint: true }));
      const isListed = (await ifPresent(files.manifest, stat(files.manifest))) !== undefined;
      const entries = isListed && keys.length > 0 ? await readManifest(files.manifest, new Set(keys)) : undefined;
      return {
        ...(started && { startedNs: started.ctimeNs }),
        isComplete: entries !== undefined || (isListed && keys.length === 0),
        entries: entries ?? [],
      };
    },
    workspaceBaseText: (key) => readText(files.texts, key),
  };
}

/** The sandbox has ended: nobody compares with it any more. */
export async function removeBase(folder: string): Promise<void> {
  const { manifest, texts } = baseFilesIn(folder);
  for (const path of [manifest, texts]) await ifPresent(path, rm(path));
}
