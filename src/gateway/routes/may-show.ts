import { BelljarError } from "../../errors.ts";
import type { Workspace } from "../../runtime/runtime.ts";
import type { CreateOptions, Principal, Sandboxes } from "../../sandbox/sandbox.ts";

/** Every user of this machine reaches a port on loopback, and a workspace shows a folder with this process's rights. */
export function assertMayShow<Shown extends { readonly workspace?: Workspace | undefined }>({ grants }: Principal, shown: Shown): Shown {
  if (!shown.workspace || grants) return shown;
  const advice = `name the workspace when the server starts (belljar serve --workspace DIR), or use a token with the scope workspace:${shown.workspace.path}`;
  throw new BelljarError("FORBIDDEN", `A caller without a token may show its sandboxes no folder of the host: ${advice}`);
}

/** The same for what a create asks for: a snapshot in the place of a template shows the folder that its sandbox showed. */
export async function assertMayMake<Options extends CreateOptions>(
  { snapshots }: Pick<Sandboxes, "snapshots">,
  caller: Principal,
  options: Options,
): Promise<Options> {
  assertMayShow(caller, options);
  if (options.template === undefined || caller.grants) return options;
  const snapshot = await unlessUnknown(snapshots.info(caller, options.template));
  if (snapshot) assertMayShow(caller, snapshot);
  return options;
}

/** Then it is a template, or the create says that there is none. */
async function unlessUnknown<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (cause) {
    if (cause instanceof BelljarError && (cause.code === "SNAPSHOT_NOT_FOUND" || cause.code === "NOT_SUPPORTED")) return undefined;
    throw cause;
  }
}
