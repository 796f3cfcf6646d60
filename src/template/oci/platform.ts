import { shown } from "./image-error.ts";

export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string | null | undefined;
}

/** Node's names of architectures that Go, and so every image, calls otherwise. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", ppc64: "ppc64le" };
/** The variants that every machine of the architecture runs. */
const BASE_VARIANTS: Readonly<Record<string, string>> = { amd64: "v1", arm64: "v8" };

/** The platform of this machine's images. */
export function hostPlatform(arch: string = process.arch): Platform {
  return { os: "linux", architecture: ARCHITECTURES[arch] ?? arch };
}

/** Returns true if the machine runs images of this platform. A wanted platform without a variant takes what each such machine runs. */
export function runs(wanted: Platform, platform: Platform): boolean {
  if (platform.os !== wanted.os || platform.architecture !== wanted.architecture) return false;
  return variantOf(platform) === variantOf(wanted);
}

export function writePlatform({ os, architecture, variant }: Platform): string {
  return shown([os, architecture, variant].filter((part) => part !== undefined && part !== null && part !== "").join("/"));
}

function variantOf({ architecture, variant }: Platform): string {
  return variant === undefined || variant === null || variant === "" ? (BASE_VARIANTS[architecture] ?? "") : variant;
}
