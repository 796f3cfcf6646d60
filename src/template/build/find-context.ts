import { BelljarError } from "../../errors.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import { checkWorkspace } from "../../sandbox/workspace/parse-workspace.ts";
import { findGranted } from "../find-granted.ts";
import type { Dockerfile } from "./parse-dockerfile.ts";

interface Asking {
  readonly principal: Principal;
  readonly home: string;
}

/**
 * The real path of the folder that a file copies from: one that could be a workspace, and that the caller may read. Undefined for a file that
 * copies from none. Rejects with `FORBIDDEN` and `WORKSPACE_INVALID`.
 */
export async function findContext(file: Dockerfile, named: string | undefined, { principal, home }: Asking): Promise<string | undefined> {
  if (named === undefined || !readsContext(file)) return undefined;
  const path = await findGranted(named, principal);
  if (path === undefined) throw new BelljarError("WORKSPACE_INVALID", `There is no folder ${named} on the machine of the home`);
  await checkWorkspace({ path, mode: "ro" }, home);
  return path;
}

function readsContext({ stages }: Dockerfile): boolean {
  return stages.some(({ steps }) => steps.some((step) => step.kind === "copy" && step.from === undefined));
}
