import { IssuerMismatchError, OAuthError, RegistrationRejectedError } from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import { printable } from "../../../files/printable.ts";

const SAID_MAX = 300;

/**
 * The error of the table for a login that failed. An authorization server may repeat what it was sent, so its words are cut, escaped and
 * shown without the secrets, and no `cause` keeps them.
 */
export function toLoginError(server: string, doing: string, cause: unknown, secrets: readonly (string | undefined)[] = []): BelljarError {
  if (cause instanceof BelljarError) return cause;
  const error = (code: "UNAUTHORIZED" | "SERVER_INCOMPATIBLE" | "SERVER_UNREACHABLE", text: string): BelljarError =>
    new BelljarError(code, `The login of "${server}": ${text}`);
  if (cause instanceof IssuerMismatchError)
    return error("SERVER_INCOMPATIBLE", "the answer is not of the authorization server that was asked, so nothing was sent to it");
  if (cause instanceof RegistrationRejectedError)
    return error(
      "SERVER_INCOMPATIBLE",
      `the authorization server registers no client (${cause.status}): write auth.clientId for the server`,
    );
  // Of an answer that is no error of OAuth the SDK makes a `server_error`, whose message has the whole body.
  if (cause instanceof OAuthError && cause.code !== "server_error")
    return error("UNAUTHORIZED", `the authorization server refused ${doing}: ${said(`${cause.code}: ${cause.message}`, secrets)}`);
  if (cause instanceof OAuthError) return error("SERVER_UNREACHABLE", `the authorization server failed at ${doing}: try again later`);
  return error("SERVER_INCOMPATIBLE", `the authorization server answered ${doing} with something else`);
}

function said(text: string, secrets: readonly (string | undefined)[]): string {
  const hidden = secrets.reduce<string>(
    (shown, secret) => (secret === undefined || secret === "" ? shown : shown.replaceAll(secret, "***")),
    text,
  );
  return printable(hidden.slice(0, SAID_MAX));
}
