import { createHash, hash } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** What the signature of a URL is made of, as the URL has it: whoever holds a sandbox's access token can sign for that sandbox. */
export interface SignedFile {
  readonly operation: "read" | "write";
  readonly path: string;
  readonly username: string;
  readonly signature: string;
  /** Unix time in seconds, as it was written. */
  readonly expiration: string | undefined;
}

const OPERATIONS: Readonly<Record<string, SignedFile["operation"]>> = { GET: "read", HEAD: "read", POST: "write" };
const SIGNATURE = /^v1_[A-Za-z0-9+/]{43}$/;
const EXPIRATION = /^(?:0|[1-9]\d{0,11})$/;
/** More is no path, and every character costs each try of a search. */
const SIGNED_MAX = 8_192;
/** From here on it is cheaper to begin once and go on from there. */
const BEGUN_MIN = 256;

/** Undefined for a request that has no signature, for one that stands twice, and for what nobody can have signed. */
export function signedFileOf({ method = "", url = "" }: Pick<IncomingMessage, "method" | "url">): SignedFile | undefined {
  const operation = OPERATIONS[method];
  const query = new URL(url, "http://sandbox").searchParams;
  const one = (name: string): string | undefined => (query.getAll(name).length > 1 ? "\0" : (query.get(name) ?? undefined));
  const [path = "", username = "", signature, expiration] = ["path", "username", "signature", "signature_expiration"].map(one);
  if (operation === undefined || signature === undefined || !SIGNATURE.test(signature)) return undefined;
  if (expiration !== undefined && !EXPIRATION.test(expiration)) return undefined;
  if (path === "\0" || username === "\0" || path.length + username.length > SIGNED_MAX) return undefined;
  return { operation, path, username, signature, expiration };
}

/** Tells for one token after the other whether the file was signed with it. Takes the same time for every wrong signature. */
export function createSignatureCheck({ path, operation, username, signature, expiration }: SignedFile): (token: string) => boolean {
  const before = `${path}:${operation}:${username}:`;
  const after = expiration === undefined ? "" : `:${expiration}`;
  const given = signature.slice("v1_".length);
  if (before.length < BEGUN_MIN) return (token) => isSame(hash("sha256", before + token + after, "base64"), given);
  const begun = createHash("sha256").update(before);
  return (token) =>
    isSame(
      begun
        .copy()
        .update(token + after)
        .digest("base64"),
      given,
    );
}

/** The padding of the first is not compared. A loop over all characters, since a search makes thousands of these: a buffer for each costs more. */
function isSame(right: string, given: string): boolean {
  let difference = 0;
  for (let at = 0; at < given.length; at += 1) difference |= right.charCodeAt(at) ^ given.charCodeAt(at);
  return difference === 0;
}

/** By this server's clock, to the second. */
export function hasExpired({ expiration }: SignedFile, now: number): boolean {
  return expiration !== undefined && Number(expiration) < Math.floor(now / 1_000);
}
