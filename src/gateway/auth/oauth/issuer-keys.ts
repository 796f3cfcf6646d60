import { createRemoteJWKSet, customFetch } from "jose";
import type { JWTVerifyGetKey } from "jose";
import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import { fetchJson } from "./fetch-json.ts";

export interface IssuerKeysOptions {
  readonly issuer: URL;
  /** Absent: as the issuer's metadata says. */
  readonly jwksUri?: URL;
  /** Keys that nobody has heard of make the set be fetched again, but not more often than this. */
  readonly cooldownMs?: number;
}

const KEPT_MS = 10 * 60_000;
const COOLDOWN_MS = 30_000;
const metadata = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });

/** The keys of an issuer: fetched when first needed, kept for ten minutes, fetched anew for a key that came by rotation. */
export function createIssuerKeys({ issuer, jwksUri, cooldownMs = COOLDOWN_MS }: IssuerKeysOptions): JWTVerifyGetKey {
  const open = async (): Promise<JWTVerifyGetKey> => {
    const address = jwksUri ?? (await discoverKeys(issuer));
    const fetch = async (url: string): Promise<Response> => Response.json(await fetchJson(new URL(url)));
    return createRemoteJWKSet(address, { cooldownDuration: cooldownMs, cacheMaxAge: KEPT_MS, [customFetch]: fetch });
  };
  const opened = retryable(open, cooldownMs);
  return async (header, token) => (await opened())(header, token);
}

/** Where the issuer's metadata says that its keys are: RFC 8414, then OpenID Connect. */
async function discoverKeys(issuer: URL): Promise<URL> {
  const path = issuer.pathname.replace(/\/$/, "");
  const places = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    `${path}/.well-known/openid-configuration`,
  ];
  for (const place of new Set(places)) {
    const found = metadata.safeParse(await fetchJson(new URL(place, issuer)).catch(() => undefined)).data;
    if (found && isSame(found.issuer, issuer)) return assertPrivate(new URL(found.jwks_uri));
  }
  throw new BelljarError("SERVER_UNREACHABLE", "The OAuth issuer's metadata cannot be read: set oauth.jwksUri, or see that it is served");
}

/** A document of another issuer would let that one in. */
function isSame(named: string, issuer: URL): boolean {
  return URL.canParse(named) && new URL(named).href === issuer.href;
}

/** Whoever is on the way could give keys of his own. Throws `CONFIG_INVALID`. */
export function assertPrivate(address: URL): URL {
  if (address.protocol === "https:" || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(address.hostname)) return address;
  throw new BelljarError(
    "CONFIG_INVALID",
    `${address.origin} is asked for the keys of OAuth tokens: it needs https, unless it is this machine`,
  );
}

/** What went well is kept; what failed is tried again by whoever comes after the pause. */
function retryable<Result>(open: () => Promise<Result>, pauseMs: number): () => Promise<Result> {
  let opened: Promise<Result> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  let failed = false;
  return () => {
    if (opened && !(failed && performance.now() - failedAt >= pauseMs)) return opened;
    failed = false;
    opened = open();
    opened.catch(() => {
      failed = true;
      failedAt = performance.now();
    });
    return opened;
  };
}
