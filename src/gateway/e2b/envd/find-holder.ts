import type { IncomingMessage } from "node:http";
import { BelljarError } from "../../../errors.ts";
import type { FindHolder } from "../admit-sandbox.ts";
import { holderOfAccess, unauthorized } from "../admit-sandbox.ts";
import type { E2b } from "../e2b.ts";
import { findTarget } from "../target.ts";
import type { SignedFile } from "./files/file-signature.ts";
import { createSignatureCheck, hasExpired, signedFileOf } from "./files/file-signature.ts";
import type { SignerSearch } from "./files/signer-search.ts";
import { createSignerSearch } from "./files/signer-search.ts";

type Parts = Pick<E2b, "tokens"> & { readonly sandboxes: Pick<E2b["sandboxes"], "linkedIds"> };

/**
 * Files and processes are for whoever holds the access token of the sandbox. A file is also for whoever has a URL that was signed with it. Rejects
 * with `UNAUTHORIZED` in E2B's words.
 */
export function findFilesHolder(e2b: Parts, now = (): number => Date.now()): FindHolder {
  const search = createSignerSearch(e2b);
  // A request that was let in is looked at again while it is served: a signature may expire meanwhile.
  const begun = new WeakSet<IncomingMessage>();
  return async (request) => {
    if (request.headers["x-access-token"] !== undefined || !isFile(request)) return holderOfAccess(e2b, request) ?? refuse();
    const signed = signedFileOf(request);
    if (!signed) throw refused(hasSignature(request) ? "invalid signature" : "missing signature query parameter");
    const id = await findSigner({ e2b, search }, request, signed);
    if (id === undefined) throw refused("invalid signature");
    if (!begun.has(request) && hasExpired(signed, now())) throw refused("signature is already expired");
    begun.add(request);
    return id;
  };
}

interface Finding {
  readonly e2b: Parts;
  readonly search: SignerSearch;
}

/** A sandbox that the request names is the only one that is tried, whether there is one or not. */
async function findSigner({ e2b: { tokens }, search }: Finding, request: IncomingMessage, signed: SignedFile): Promise<string | undefined> {
  const target = findTarget(request);
  if (!target) return search.find(signed);
  return createSignatureCheck(signed)(tokens.of("access", target.sandbox)) ? target.sandbox : undefined;
}

function isFile({ url = "" }: IncomingMessage): boolean {
  return /^\/files\/?(?:\?|$)/.test(url);
}

function hasSignature({ url = "" }: IncomingMessage): boolean {
  return new URL(url, "http://sandbox").searchParams.has("signature");
}

function refuse(): never {
  throw unauthorized();
}

function refused(why: string): BelljarError {
  return new BelljarError("UNAUTHORIZED", why);
}
