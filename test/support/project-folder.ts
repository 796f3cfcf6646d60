import { mkdtemp, realpath, rm } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";

/** A folder of the host whose path is free inside every sandbox. Disposing it removes it. */
export interface ProjectFolder extends AsyncDisposable {
  readonly path: string;
}

/** `/tmp`, where tests have their folders, and root's home are not free inside. The HOME of a test run may lie in `/tmp`. */
export async function openProjectFolder(): Promise<ProjectFolder> {
  const path = await realpath(await mkdtemp(join(process.getuid?.() === 0 ? "/srv" : userInfo().homedir, "belljar-project-")));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
