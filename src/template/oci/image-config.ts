import { z } from "zod";
import { isDigest } from "./digest.ts";
import { invalidImage } from "./image-error.ts";
import { parseBy } from "./manifest.ts";
import type { Platform } from "./platform.ts";

/** What an image says of the programs that are started in it. Nothing of it is checked beyond its form. */
export interface ImageConfig {
  readonly platform: Platform;
  /** As `NAME=VALUE`. */
  readonly env: readonly string[];
  /** A name, `uid` or `uid:gid`. */
  readonly user?: string;
  readonly workingDir?: string;
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  /** TCP ports that its programs listen on. */
  readonly exposedPorts: readonly number[];
  readonly labels: Readonly<Record<string, string>>;
  /** The digests of the uncompressed layers, lowest first. */
  readonly diffIds: readonly string[];
}

export const CONFIG_MAX_BYTES = 8 * 1024 ** 2;
/** The kernel's own limit for one argument or variable. */
const ARGUMENT_MAX = 131_071;
const ARGUMENTS_MAX = 10_000;
const PORT = /^(\d{1,5})(?:\/tcp)?$/i;

const Argument = z
  .string()
  .max(ARGUMENT_MAX)
  .refine((text) => !text.includes("\0"), "has a NUL, which no program can be given");
const Arguments = z.array(Argument).max(ARGUMENTS_MAX).nullish();

const ConfigSchema = z.object({
  architecture: z.string().max(64),
  os: z.string().max(64),
  variant: z.string().max(64).nullish(),
  rootfs: z.object({
    type: z.literal("layers"),
    diff_ids: z.array(z.string().refine(isDigest, "is no sha256 or sha512 digest")).nullish(),
  }),
  config: z
    .object({
      Env: Arguments,
      User: Argument.nullish(),
      WorkingDir: Argument.nullish(),
      Entrypoint: Arguments,
      Cmd: Arguments,
      ExposedPorts: z.record(z.string(), z.unknown()).nullish(),
      Labels: z.record(z.string(), z.string()).nullish(),
    })
    .nullish(),
});

/** Parses the configuration of an image with so many layers. Throws `IMAGE_INVALID`. */
export function parseImageConfig(bytes: Uint8Array, layers: number): ImageConfig {
  const { architecture, os, variant, rootfs, config } = parseBy(ConfigSchema, bytes, "the configuration");
  const diffIds = rootfs.diff_ids ?? [];
  if (diffIds.length !== layers) throw invalidImage(`it has ${layers} layers, and its configuration knows ${diffIds.length}`);
  return {
    platform: { os, architecture, ...(variant && { variant }) },
    env: config?.Env ?? [],
    ...(config?.User && { user: config.User }),
    ...(config?.WorkingDir && { workingDir: config.WorkingDir }),
    ...(config?.Entrypoint && { entrypoint: config.Entrypoint }),
    ...(config?.Cmd && { cmd: config.Cmd }),
    exposedPorts: Object.keys(config?.ExposedPorts ?? {}).flatMap(toPort),
    labels: config?.Labels ?? {},
    diffIds,
  };
}

/** Ports of other protocols, and ranges of ports, lead to nothing that a sandbox shows. */
function toPort(text: string): readonly number[] {
  const port = Number(PORT.exec(text)?.[1]);
  return port >= 1 && port <= 65_535 ? [port] : [];
}
