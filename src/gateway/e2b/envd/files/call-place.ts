import type { FileCall, GuestFiles } from "../../../../runtime/guest/guest.ts";
import type { Asked } from "../../../routes/route.ts";
import type { SandboxAdmission } from "../../admit-sandbox.ts";
import { callingUser, userUnknown } from "../calling-user.ts";
import { callAs, findFileUser, resolveFilePath } from "./file-user.ts";

/** Where a call on files works, and as whom. */
export interface CallPlace {
  readonly sandbox: string;
  readonly owner: string;
  readonly files: GuestFiles;
  readonly call: FileCall;
  /** Makes a path absolute. */
  readonly toPath: (path: string) => string;
}

/** Rejects with `UNAUTHORIZED` for a user whom the sandbox does not have. */
export async function enterCall(admission: SandboxAdmission, asked: Asked): Promise<CallPlace> {
  const sandbox = admission.of(asked.request);
  asked.reached(sandbox.id);
  const name = callingUser(asked.request);
  const user = await findFileUser(sandbox, name, asked.signal);
  if (!user) throw userUnknown(name ?? "");
  const call = callAs(user, asked.signal);
  return { sandbox: sandbox.id, owner: sandbox.owner, files: sandbox.guest.files, call, toPath: (path) => resolveFilePath(path, user) };
}
