import { BelljarError } from "../../../errors.ts";

const MAX_BYTES = 1_048_576;
const TIMEOUT_MS = 5_000;

/** A small JSON document of the issuer, from exactly that address. Rejects with `SERVER_UNREACHABLE`. */
export async function fetchJson(address: URL): Promise<unknown> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(address, { redirect: "error", signal, headers: { accept: "application/json" } });
    if (!response.ok) throw new TypeError(`Status ${response.status}`);
    return JSON.parse(await readBody(response)) as unknown;
  } catch (cause) {
    throw new BelljarError("SERVER_UNREACHABLE", "The OAuth issuer does not answer, so no token of it can be checked: try again later", {
      cause,
    });
  }
}

async function readBody(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new TypeError("The document is larger than 1 MiB");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
