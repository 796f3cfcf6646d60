import { join } from "node:path";
import { BARE_BASE } from "../../runtime/contract/sandbox-spec.ts";
import { needStates } from "../../sandbox/state/state-errors.ts";
import { templateUser } from "../../sandbox/template-source.ts";
import { assertSecrets } from "../build/assert-secrets.ts";
import { buildDockerfile, type BuildRequest } from "../build/build-dockerfile.ts";
import type { BuildParts } from "../build/build-parts.ts";
import { findContext } from "../build/find-context.ts";
import type { FromName, TakeImage } from "../build/find-base.ts";
import { openStepCache } from "../build/home-steps.ts";
import { parseDockerfile } from "../build/parse-dockerfile.ts";
import { ROOT } from "../build/root-user.ts";
import type { StageState } from "../build/stage-state.ts";
import { commandOf } from "../image-config.ts";
import type { BuildWork, Making, MakingParts, Wish } from "./making.ts";
import { takeImage, type TakenImage } from "./take-image.ts";
import { tryStart } from "./try-start.ts";
import { tryTemplate, type Untried } from "./try-template.ts";
import { type Held, whileHolding } from "./while-holding.ts";

/** Before the first step the whole file is read, and what it needs of the host and the network is granted. */
export async function fromDockerfile(parts: MakingParts, wish: Wish, text: string): Promise<Making> {
  const { principal, options } = wish;
  const { buildArgs = {}, context: named, target, secrets = {} } = options;
  const file = parseDockerfile(text, { buildArgs, target });
  assertSecrets(file, secrets);
  const context = await findContext(file, named, { principal, home: parts.home });
  return build(parts, wish, { file, buildArgs, context });
}

/** The same of steps that nobody wrote into a file. */
export async function fromSteps(parts: MakingParts, wish: Wish, { file, archives, freshFrom }: BuildWork): Promise<Making> {
  return build(parts, wish, { file, buildArgs: {}, archives, freshFrom });
}

async function build(parts: MakingParts, wish: Wish, request: Omit<BuildRequest, "takeImage">): Promise<Making> {
  const { principal, options, work } = wish;
  const { file } = request;
  const reach = await parts.sandboxes.networkOf(principal, options.network, work);
  const states = needStates(parts.runtimes.choose(principal));
  return whileHolding(states, templateUser(wish), async (held) => {
    const ready = toBuildParts(parts, wish, { held, reach });
    const built = await buildDockerfile(ready, { ...request, takeImage: takeImages(parts, wish, held) });
    wish.log("", FINAL_STEP);
    await states.flushLayers([...built.layers, ...(built.parts ?? [])], wish.signal); // those of kept steps too
    const source = { kind: "dockerfile", from: file.stages.at(-1)?.image ?? "" } as const;
    const making = await tryTemplate(parts, wish, { source, runtime: ready.runtime, ...toUntried(built) });
    if (work?.tryStart) await tryStart(parts, wish, { making, start: work.tryStart });
    return { ...making, ...(built.start && { start: built.start }) };
  });
}

/** In the place of a line: after all steps. */
export const FINAL_STEP = -1;

/** All images of a build have the room of one template together, and one that it names twice is taken once. */
function takeImages(parts: MakingParts, wish: Wish, held: Held): TakeImage {
  const taken = new Map<string, Promise<TakenImage>>();
  let bytes = 0;
  const take = async (image: FromName): Promise<TakenImage> => {
    const one = await takeImage({ ...parts, maxBytes: Math.max(0, parts.maxBytes - bytes) }, wish, { ...image, held });
    bytes += one.bytes;
    return one;
  };
  return (image) => {
    const name = JSON.stringify([image.image, image.platform]);
    const found = taken.get(name) ?? take(image);
    taken.set(name, found);
    return found;
  };
}

function toBuildParts(parts: MakingParts, wish: Wish, more: Pick<BuildParts, "held" | "reach">): BuildParts {
  const { home, stored, sandboxes, maxBytes } = parts;
  const scratch = join(home, "templates");
  const { principal, id, options, work, log, signal } = wish;
  const { name, network, secrets = {} } = options;
  const runtime = parts.runtimes.choose(principal);
  const of = { principal, id, name, runtime: runtime.name, states: needStates(runtime), user: templateUser(wish) };
  const cache = openStepCache(parts, principal, runtime);
  return {
    ...of,
    stored,
    sandboxes,
    scratch,
    maxBytes,
    network,
    isPublicOnly: work?.isPublicOnly === true,
    cache,
    secrets,
    log,
    signal,
    ...more,
  };
}

/** On the host's own programs, where nobody says a user or a folder, both are the base's. */
function toUntried(built: StageState): Omit<Untried, "source" | "runtime"> {
  const { base, layers, bytes, env, workdir, parts, tookIn } = built;
  const isBare = base === BARE_BASE.template;
  return {
    base,
    layers,
    bytes,
    env,
    command: commandOf(built),
    entrypoint: built.entrypoint,
    user: built.user ?? (isBare ? ROOT : undefined),
    workingDir: workdir ?? (isBare ? "/" : undefined),
    ...(parts && { parts: [...layers.slice(0, -1), ...parts] }),
    ...(tookIn !== undefined && { tookIn }),
  };
}
