import { createRemoteJWKSet, customFetch } from "jose";
import type { JWTVerifyGetKey } from "jose";
import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import { kindOfAddress } from "../../../network/egress/addresses.ts";
import { isAddress, toCanonicalHost } from "../../../network/host-name.ts";
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

const keySet = z.looseObject({ keys: z.array(z.looseObject({})) });

/** The keys of an issuer: fetched when first needed, kept for ten minutes, fetched anew for a key that came by rotation. */
export function createIssuerKeys({ issuer, jwksUri, cooldownMs = COOLDOWN_MS }: IssuerKeysOptions): JWTVerifyGetKey {
  const open = async (): Promise<JWTVerifyGetKey> => {
    const address = jwksUri ?? (await discoverKeys(issuer));
    const fetch = pausing(async (url: string) => Response.json(keySet.parse(await fetchJson(new URL(url)))), cooldownMs);
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
    if (found && isSame(found.issuer, issuer)) return assertKeysPlace(new URL(found.jwks_uri), issuer);
  }
  throw new BelljarError(
    "SERVER_UNREACHABLE",
    "The OAuth issuer's metadata cannot be read: set oauth.jwksUri, or make the issuer serve its metadata",
  );
}

/** A document of another issuer would let that one in. */
function isSame(named: string, issuer: URL): boolean {
  return URL.canParse(named) && new URL(named).href === issuer.href;
}

/**
 * The issuer says where its keys are, but not that this server shall ask its own machine or network: only an issuer that is there itself
 * has them there. Throws `SERVER_UNREACHABLE`.
 */
export function assertKeysPlace(address: URL, issuer: URL): URL {
  const isElsewhere = address.hostname !== issuer.hostname && !(isInside(address) && isInside(issuer));
  const isRefused = isElsewhere && isInside(address);
  if (!isRefused && isPrivate(address)) return address;
  throw new BelljarError(
    "SERVER_UNREACHABLE",
    "Belljar does not fetch keys from the address in the OAuth issuer's metadata: set oauth.jwksUri if the address is right",
  );
}

function isInside({ hostname }: URL): boolean {
  const host = toCanonicalHost(hostname);
  if (host === undefined) return true;
  return isAddress(host) ? kindOfAddress(host) !== "public" : host === "localhost" || host.endsWith(".localhost");
}

/** Whoever is on the way could give keys of his own. Throws `CONFIG_INVALID`. */
export function assertPrivate(address: URL): URL {
  if (isPrivate(address)) return address;
  throw new BelljarError(
    "CONFIG_INVALID",
    `${address.origin} is asked for the keys of OAuth tokens: it needs https, unless it is this machine`,
  );
}

/** After a failure nobody is asked for a while: whoever sends tokens that nobody signed must not make this server ask without end. */
function pausing<Arg, Result>(ask: (arg: Arg) => Promise<Result>, pauseMs: number): (arg: Arg) => Promise<Result> {
  let failure: { readonly cause: unknown; readonly until: number } | undefined;
  return async (arg) => {
    if (failure && performance.now() < failure.until) throw failure.cause;
    try {
      return await ask(arg);
    } catch (cause) {
      failure = { cause, until: performance.now() + pauseMs };
      throw cause;
    }
  };
}

function isPrivate({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname));
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
