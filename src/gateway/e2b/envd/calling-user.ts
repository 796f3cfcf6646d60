import type { IncomingMessage } from "node:http";
import { BelljarError } from "../../../errors.ts";

/** Names of accounts alone: the guest would also take numbers and groups. */
const ACCOUNT = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}\$?$/;

/** Whom a call names by `Authorization: Basic`; undefined: the sandbox's own user. Throws `UNAUTHORIZED` for what names no account. */
export function callingUser({ headers }: Pick<IncomingMessage, "headers">): string | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/=_-]*)$/i.exec(headers.authorization ?? "") ?? [];
  if (encoded === undefined) return undefined;
  const [user = ""] = Buffer.from(encoded, "base64").toString("utf8").split(":");
  if (user === "") return undefined;
  if (!ACCOUNT.test(user)) throw userUnknown(user);
  return user;
}

/** In E2B's words. */
export function userUnknown(user: string, cause?: unknown): BelljarError {
  return new BelljarError("UNAUTHORIZED", `invalid username: '${user.slice(0, 64)}'`, { cause });
}
