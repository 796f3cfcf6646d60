import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Whether a home has sandboxes that have not ended: to ask the CLI costs its whole start. */
export function hasSandboxes(home: string): boolean {
  const folder = join(home, "sandboxes");
  return names(folder).some((id) => !existsSync(join(folder, id, "tombstone.json")));
}

export function hasSnapshots(home: string): boolean {
  return names(join(home, "snapshots")).length > 0;
}

function names(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
