import { digestOf, digestParts, isDigest } from "../digest.ts";
import { invalidImage } from "../image-error.ts";
import { loadImage } from "../load-image.ts";
import { parseDocument } from "../manifest.ts";
import type { OciImage } from "../oci-image.ts";
import type { Platform } from "../platform.ts";
import type { Reference } from "./reference.ts";
import { RegistryClient, type RegistryOptions } from "./registry-client.ts";

export interface OpenRegistryOptions extends RegistryOptions {
  /** Default: this machine's. */
  readonly platform?: Platform;
}

/** Opens an image in a registry. Layers are read from there when they are opened, so the egress client must live as long as the image. */
export async function openRegistryImage(
  reference: Reference,
  { platform, ...options }: OpenRegistryOptions,
  signal: AbortSignal,
): Promise<OciImage> {
  const client = new RegistryClient(reference, options);
  const answer = await client.getManifest(reference.digest ?? reference.tag, signal);
  const digest = checkAnswer(answer.bytes, reference.digest ?? answer.digest);
  const first = { digest, document: parseDocument(answer.bytes, answer.mediaType) };
  return loadImage({ source: client, first, platform }, signal);
}

/** Returns the digest of the bytes: by the algorithm that was asked for, and else by that of the registry. */
function checkAnswer(bytes: Buffer, said: string | undefined): string {
  if (said === undefined || !isDigest(said)) return digestOf(bytes);
  const digest = digestOf(bytes, digestParts(said).algorithm);
  if (digest !== said) throw invalidImage(`its manifest should have the digest ${said}, and has ${digest}`);
  return digest;
}
