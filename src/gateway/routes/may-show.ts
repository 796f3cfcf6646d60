import { BelljarError } from "../../errors.ts";
import type { Workspace } from "../../runtime/contract/sandbox-spec.ts";
import type { Principal } from "../../sandbox/sandbox.ts";

/** Every user of this machine reaches a port on loopback, and a workspace shows a folder with this process's rights. */
export function assertMayShow<Shown extends { readonly workspace?: Workspace | undefined }>({ grants }: Principal, shown: Shown): Shown {
  if (!shown.workspace || grants) return shown;
  const advice = `name the workspace when the server starts (belljar serve --workspace DIR), or use a token with the scope workspace:${shown.workspace.path}`;
  throw new BelljarError("FORBIDDEN", `A caller without a token may show its sandboxes no folder of the host: ${advice}`);
}
