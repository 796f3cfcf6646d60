import type { IncomingHttpHeaders } from "node:http";
import { BelljarError } from "../../../../errors.ts";
import type { FileCall, GuestFiles } from "../../../../runtime/guest/guest.ts";
import type { Asked } from "../../../routes/route.ts";
import type { SandboxAdmission } from "../../admit-sandbox.ts";
import { callAs, findFileUser, resolveFilePath } from "./file-user.ts";

/** Where a call on files works, and as whom. */
export interface CallPlace {
  readonly sandbox: string;
  readonly files: GuestFiles;
  readonly call: FileCall;
  /** Makes a path absolute. */
  readonly toPath: (path: string) => string;
}

/** Rejects with `UNAUTHORIZED` for a user whom the sandbox does not have. */
export async function enterCall(admission: SandboxAdmission, asked: Asked): Promise<CallPlace> {
  const sandbox = admission.of(asked.request);
  asked.reached(sandbox.id);
  const name = basicUserOf(asked.request.headers);
  const user = await findFileUser(sandbox, name, asked.signal);
  if (!user) throw new BelljarError("UNAUTHORIZED", `invalid username: '${name}'`);
  const call = callAs(user, asked.signal);
  return { sandbox: sandbox.id, files: sandbox.guest.files, call, toPath: (path) => resolveFilePath(path, user) };
}

/** E2B's clients name the user as that of a basic authorization without a password. Its own token is another header. */
export function basicUserOf({ authorization }: IncomingHttpHeaders): string | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/_-]{1,512}=*) *$/i.exec(authorization ?? "") ?? [];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString().split(":")[0];
}
