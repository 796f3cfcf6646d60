import { BelljarError } from "../errors.ts";
import type { TemplateSource } from "../sandbox/template-source.ts";
import { variablesSchema } from "../sandbox/wire/texts-schema.ts";
import type { ImageConfig } from "./oci/image-config.ts";

const DEFAULT_USER = "0";
const USER_MAX = 256;
/** Of the command of a template. */
export const ARGUMENTS_MAX = 1_000;

/** What a template takes over of an image's configuration. */
export interface TakenConfig {
  readonly env: TemplateSource["env"];
  readonly user: string;
  readonly workingDir?: string | undefined;
  readonly entrypoint?: readonly string[] | undefined;
  readonly cmd?: readonly string[] | undefined;
}

/** Throws `IMAGE_INVALID` for what no command could have. */
export function takeConfig(config: ImageConfig): TakenConfig {
  const { entrypoint, cmd, workingDir } = config;
  if (commandOf(config).length > ARGUMENTS_MAX) throw invalid("its command has too many arguments");
  return {
    env: takeEnvironment(config.env),
    user: takeUser(config.user),
    ...(workingDir?.startsWith("/") && !workingDir.includes("\0") && { workingDir }),
    entrypoint,
    cmd,
  };
}

/** What it would run: empty for nothing. */
export function commandOf({ entrypoint = [], cmd = [] }: Pick<TakenConfig, "entrypoint" | "cmd">): readonly string[] {
  return [...entrypoint, ...cmd];
}

/** Names that no shell could set are left out, as shells do. */
function takeEnvironment(lines: readonly string[]): Record<string, string> {
  const pairs = lines
    .filter((line) => line.includes("="))
    .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)] as const);
  const named = Object.fromEntries(pairs.filter(([name]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)));
  const parsed = variablesSchema.safeParse(named);
  if (parsed.success) return parsed.data;
  throw invalid(`its environment has ${parsed.error.issues[0]?.message ?? "a bad entry"}`);
}

/** A name or number, and after a colon a group. */
export function isUser(text: string): boolean {
  return text.length <= USER_MAX && /^[^\s:\0]+(:[^\s:\0]+)?$/.test(text);
}

function takeUser(user: string | undefined): string {
  if (user === undefined || user === "") return DEFAULT_USER;
  if (isUser(user)) return user;
  throw invalid(`its user ${JSON.stringify(user.slice(0, 40))} is none`);
}

function invalid(problem: string): BelljarError {
  return new BelljarError("IMAGE_INVALID", `The image cannot be used: ${problem}`);
}
