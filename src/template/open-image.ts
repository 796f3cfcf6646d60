import { stat } from "node:fs/promises";
import { BelljarError } from "../errors.ts";
import { ifPresent } from "../files/file-error.ts";
import { openImageArchive } from "./oci/image-archive.ts";
import { openImageLayout } from "./oci/image-layout.ts";
import type { OciImage } from "./oci/oci-image.ts";
import { hostPlatform, type Platform } from "./oci/platform.ts";

export interface OpenImageWish {
  readonly platform: Platform;
  /** A folder with room for a compressed archive without its compression, and the most that such a one may have. */
  readonly scratch: string;
  readonly maxBytes: number;
}

/** Opens a folder or an archive of the host. The image keeps it open until it is disposed. */
export async function openImage(path: string, wish: OpenImageWish, signal: AbortSignal): Promise<OciImage> {
  const { platform, scratch, maxBytes } = wish;
  const found = await ifPresent(path, stat(path));
  if (!found) throw new BelljarError("IMAGE_NOT_FOUND", `There is no image layout and no archive ${path} on the machine of the home`);
  return found.isDirectory()
    ? openImageLayout(path, { platform }, signal)
    : openImageArchive(path, { platform, scratch, maxBytes }, signal);
}

/** `OS/ARCHITECTURE[/VARIANT]`; undefined: this machine's. Throws `ARGUMENTS_INVALID`. */
export function parsePlatform(text: string | undefined): Platform {
  if (text === undefined) return hostPlatform();
  const [os = "", architecture = "", variant, ...rest] = text.split("/");
  if (os === "" || architecture === "" || rest.length > 0)
    throw new BelljarError("ARGUMENTS_INVALID", "A platform is an operating system and an architecture, such as linux/amd64");
  return { os, architecture, ...(variant !== undefined && { variant }) };
}
