import { BARE_BASE, DEFAULT_BASE } from "../../runtime/contract/sandbox-spec.ts";
import { assertWorkspaceGranted } from "../../sandbox/grants.ts";
import type { TakenConfig } from "../image-config.ts";
import { noTemplate } from "../parse-options.ts";
import type { UnpackedImage } from "../unpack-image.ts";
import type { BuildParts } from "./build-parts.ts";
import { invalidLine, quoted } from "./dockerfile-error.ts";
import { SHELL, type StageState } from "./stage-state.ts";

/** What a FROM or a `--from` names that is no stage. */
export interface FromName {
  readonly image: string;
  readonly only?: "template" | "image" | undefined;
  readonly platform?: string | undefined;
  readonly line: number;
}

/** An image whose layers the template's user has. */
export type TakeImage = (image: FromName) => Promise<UnpackedImage & { readonly config: TakenConfig }>;

const EMPTY = { layers: [], bytes: 0, env: {}, args: new Map<string, string>(), shell: SHELL } as const;

/**
 * `scratch`, `base`, a template of the caller by its name, an image on this host by its absolute path, or one of a registry. The template's
 * user has the layers from then on. Rejects with `DOCKERFILE_INVALID`, and as an import does.
 */
export async function findBase(parts: BuildParts, from: FromName, takeImage: TakeImage): Promise<StageState> {
  const { image, only } = from;
  if (only === "image") return fromImage(await takeImage(from));
  if (image === "scratch") return { ...EMPTY, base: BARE_BASE.template };
  if (image === DEFAULT_BASE.template) return { ...EMPTY, base: DEFAULT_BASE.template };
  if (image.startsWith(".")) throw invalidLine(from.line, `${quoted(image)} is a relative path: name the image by its absolute path`);
  const found = await fromTemplate(parts, from);
  if (!found && only === "template") throw noTemplate(image);
  return found ?? fromImage(await takeImage(from));
}

function fromImage({ layers, parts, bytes, config }: Awaited<ReturnType<TakeImage>>): StageState {
  const { env, user, workingDir, entrypoint, cmd } = config;
  return { ...EMPTY, base: BARE_BASE.template, layers, parts, bytes, env, user, workdir: workingDir, entrypoint, cmd };
}

/** Whoever may not start from the template may not build on it, nor be told by the steps that were kept what was built on it. */
async function fromTemplate(
  { principal, stored, states, runtime, user, held, log }: BuildParts,
  { image, line }: FromName,
): Promise<StageState | undefined> {
  const record = await stored.record(principal, image);
  if (!record) return undefined;
  if (record.runtime !== runtime)
    throw invalidLine(line, `the template ${quoted(image)} is of the runtime "${record.runtime}", and this build is of "${runtime}"`);
  const { base, layers, bytes, env, user: runsAs, cwd, command, start, tookIn } = record;
  if (tookIn !== undefined) assertWorkspaceGranted({ path: tookIn, mode: "copy" }, principal);
  const parts = record.parts?.filter((part) => !layers.includes(part));
  const all = [...layers, ...(parts ?? [])];
  held(all);
  await states.hold(all, user);
  log(`${quoted(image)} is the template of ${quoted(record.owner)}\n`);
  return { ...EMPTY, base, layers, parts, bytes, env, user: runsAs, workdir: cwd, cmd: command, start, tookIn };
}
