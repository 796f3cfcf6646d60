import type { FetchLike } from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import type { OAuthSettings } from "./auth-settings.ts";
import { toClientInformation } from "./login-client.ts";
import type { Login } from "./login-record.ts";

/** Tells the authorization server that a login is over (RFC 7009). True if it said that it is. An authorization server need not know this. */
export async function revoke(
  { client, metadata, tokens }: Login,
  settings: OAuthSettings,
  open: () => Promise<FetchLike>,
): Promise<boolean> {
  const endpoint = metadata?.["revocation_endpoint"];
  const token = tokens?.refresh_token ?? tokens?.access_token;
  if (typeof endpoint !== "string" || token === undefined || !URL.canParse(endpoint)) return false;
  const { client_id: id, client_secret: secret } = toClientInformation(client, settings);
  const body = new URLSearchParams({ token, client_id: id, ...(secret !== undefined && { client_secret: secret }) });
  try {
    const fetchFn = await open();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const { ok } = await fetchFn(endpoint, { method: "POST", headers, body, redirect: "manual" });
    return ok;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code !== "CANCELLED") return false;
    throw cause;
  }
}
