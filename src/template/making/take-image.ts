import { join } from "node:path";
import { BelljarError } from "../../errors.ts";
import { needStates } from "../../sandbox/state/state-errors.ts";
import { templateUser } from "../../sandbox/template-source.ts";
import { findGranted } from "../find-granted.ts";
import { type TakenConfig, takeConfig } from "../image-config.ts";
import { KnownLayers } from "../known-layers.ts";
import type { OciImage } from "../oci/oci-image.ts";
import { writePlatform } from "../oci/platform.ts";
import { openImage, parsePlatform } from "../open-image.ts";
import { openRegistry } from "../open-registry.ts";
import { type UnpackedImage, unpackImage } from "../unpack-image.ts";
import type { MakingParts, Wish } from "./making.ts";
import type { Held } from "./while-holding.ts";

export interface NamedImage {
  /** The absolute path of one on the host, or a reference. */
  readonly image: string;
  readonly platform?: string | undefined;
}

export interface TakenImage extends UnpackedImage {
  readonly config: TakenConfig;
  readonly digest: string;
  readonly platform: string;
}

/** Unpacks an image for the template, which is the user of its layers from then on. */
export async function takeImage(parts: MakingParts, wish: Wish, named: NamedImage & { readonly held: Held }): Promise<TakenImage> {
  const { home, maxBytes, runtimes } = parts;
  const { principal, signal } = wish;
  await using image = await open(parts, wish, named);
  const config = takeConfig(image.config);
  const states = needStates(runtimes.choose(principal));
  const known = new KnownLayers(home, principal.id);
  const unpacked = await unpackImage(image, { states, known, maxBytes, user: templateUser(wish), held: named.held, signal });
  return { ...unpacked, config, digest: image.digest, platform: writePlatform(image.config.platform) };
}

async function open(
  parts: MakingParts,
  { principal, options, work, signal }: Wish,
  { image, platform: wanted }: NamedImage,
): Promise<OciImage> {
  const { home, maxBytes, sandboxes, registry } = parts;
  const platform = parsePlatform(wanted);
  if (image.startsWith("/")) {
    const path = await findGranted(image, principal);
    if (path !== undefined) return openImage(path, { platform, scratch: join(home, "templates"), maxBytes }, signal);
    throw new BelljarError("IMAGE_NOT_FOUND", `There is no image layout and no archive ${image} on the machine of the home`);
  }
  if (!registry) throw new BelljarError("NOT_SUPPORTED", "These templates were opened without registries: name a layout or an archive");
  const state = await sandboxes.networkOf(principal, options.network);
  return openRegistry(registry, { reference: image, owner: principal.id, state, platform, credential: work?.credential }, signal);
}
