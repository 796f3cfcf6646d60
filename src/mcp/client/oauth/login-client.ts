import type { FetchLike, OAuthClientInformationMixed } from "@modelcontextprotocol/client";
import { registerClient } from "@modelcontextprotocol/client";
import { BelljarError } from "../../../errors.ts";
import type { OAuthSettings } from "./auth-settings.ts";
import type { LoginPlace } from "./login-place.ts";
import type { LoginClient } from "./login-record.ts";
import { toLoginError } from "./oauth-failure.ts";

export interface ClientWish {
  readonly server: string;
  readonly settings: OAuthSettings;
  readonly place: LoginPlace;
  readonly redirectUrl: string;
  readonly scope: string | undefined;
  /** The client of an earlier login at the same issuer. */
  readonly known: LoginClient | undefined;
}

/**
 * The client that logs in: the configured one, else the document of one where the authorization server reads these, else the one of an
 * earlier login, else one that is registered now.
 */
export async function findClient(wish: ClientWish, fetchFn: FetchLike): Promise<LoginClient> {
  const { settings, place, known, redirectUrl } = wish;
  if (settings.clientId !== undefined) return { client_id: settings.clientId, source: "configured" };
  if (settings.clientDocument !== undefined && place.metadata?.client_id_metadata_document_supported === true)
    return { client_id: settings.clientDocument, token_endpoint_auth_method: "none", source: "document" };
  if (known?.source === "registered" && known.redirect_uri === redirectUrl) return known;
  return register(wish, fetchFn);
}

async function register({ server, place, redirectUrl, scope }: ClientWish, fetchFn: FetchLike): Promise<LoginClient> {
  const { metadata, authorizationServer } = place;
  if (metadata && metadata.registration_endpoint === undefined)
    throw new BelljarError(
      "SERVER_INCOMPATIBLE",
      `The login of "${server}" needs a client: register one there, and write its id as auth.clientId`,
    );
  const clientMetadata = {
    client_name: "Belljar",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: authMethod(metadata?.token_endpoint_auth_methods_supported),
    application_type: "native",
  };
  const registered = await registerClient(authorizationServer, {
    ...(metadata && { metadata }),
    clientMetadata,
    ...(scope !== undefined && { scope }),
    fetchFn,
  }).catch((cause: unknown) => {
    throw toLoginError(server, "the registration", cause);
  });
  const { client_id, client_secret, token_endpoint_auth_method } = registered;
  return {
    client_id,
    ...(client_secret !== undefined && { client_secret }),
    ...(token_endpoint_auth_method !== undefined && { token_endpoint_auth_method }),
    redirect_uri: redirectUrl,
    source: "registered",
  };
}

/** A program on a person's machine keeps no secret, so it has none where it need not. */
function authMethod(supported: readonly string[] | undefined): string {
  if (!supported || supported.includes("none")) return "none";
  return supported.find((method) => method === "client_secret_basic" || method === "client_secret_post") ?? "none";
}

/** As the SDK wants it. The secret of a configured client is not stored. */
export function toClientInformation(client: LoginClient, { clientSecret }: OAuthSettings): OAuthClientInformationMixed {
  const secret = client.source === "configured" ? clientSecret : client.client_secret;
  return {
    client_id: client.client_id,
    ...(secret !== undefined && { client_secret: secret }),
    ...(client.token_endpoint_auth_method !== undefined && { token_endpoint_auth_method: client.token_endpoint_auth_method }),
  };
}
