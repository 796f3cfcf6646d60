import { BelljarError } from "../../../errors.ts";
import type { CreateOptions, Principal, Sandbox } from "../../../sandbox/sandbox.ts";
import type { E2b } from "../e2b.ts";
import type { CreateWish } from "./create-schema.ts";
import { deadlineActionOf } from "./lifecycle.ts";
import type { MadeWith } from "./made-with.ts";
import { toLabels } from "./made-with.ts";
import { toPolicy } from "./network-wish.ts";
import { findSnapshot, parseReference } from "./snapshots.ts";
import { findName, isBase, toDomainName } from "./template-names.ts";
import { hasOwnTemplate } from "./own-template.ts";

/** Makes the sandbox that a client asks for. What this server cannot keep of the wish rejects with `NOT_SUPPORTED`. */
export async function createSandbox(e2b: E2b, caller: Principal, wish: MakeWish, signal: AbortSignal): Promise<Sandbox> {
  assertKept(wish);
  const made = toMade(wish);
  const network = await toPolicy({ ...wish.network, allow_internet_access: wish.allow_internet_access }, e2b.settings, caller);
  const options: CreateOptions = {
    metadata: toLabels(wish.metadata ?? {}, made),
    env: wish.envVars ?? {},
    timeoutMs: wish.timeout * 1_000,
    onDeadline: deadlineActionOf(made),
    // A paused one is one that its client paused.
    pauseIdleMs: 0,
    network,
    isPublicOnly: true,
    volumes: (wish.volumeMounts ?? []).map(({ name: volume, path }) => ({ volume, path })),
  };
  return unlessNoVolume(makeFrom(e2b, caller, { options, name: wish.templateID }, signal));
}

/** What of E2B's clients is to be named in a create is a fault of the create's. */
async function unlessNoVolume(making: Promise<Sandbox>): Promise<Sandbox> {
  try {
    return await making;
  } catch (cause) {
    if (!(cause instanceof BelljarError && cause.code === "VOLUME_NOT_FOUND")) throw cause;
    throw new BelljarError("ARGUMENTS_INVALID", cause.message, { cause });
  }
}

export type MakeWish = CreateWish & { readonly timeout: number };

function assertKept({ iam, network, ...wish }: MakeWish): void {
  if (Object.keys(iam?.tokens ?? {}).length > 0) throw unsupported("iam: it issues no identities to sandboxes");
  if ((network?.httpsPorts ?? []).length > 0) throw unsupported("httpsPorts: ports of a sandbox are asked by HTTP");
  assertLifecycle(wish);
}

function assertLifecycle({
  autoPause,
  autoPauseMemory,
  autoResume,
}: Pick<CreateWish, "autoPause" | "autoPauseMemory" | "autoResume">): void {
  if (autoPauseMemory === false && !autoPause) throw invalid("autoPauseMemory: false needs autoPause: true");
  if (autoPauseMemory === false && autoResume?.enabled)
    throw invalid("autoResume needs the memory of a paused sandbox: leave out autoPauseMemory: false");
}

function toMade({ templateID, timeout, autoPause, autoPauseMemory, autoResume, network }: MakeWish): MadeWith {
  const { allowPublicTraffic, maskRequestHost } = network ?? {};
  return {
    template: templateID,
    timeout,
    ...(autoPause && { autoPause, ...(autoPauseMemory === false && { autoPauseMemory }) }),
    ...(autoResume?.enabled && { autoResume: true }),
    ...(typeof allowPublicTraffic === "boolean" && { allowPublicTraffic }),
    ...(typeof maskRequestHost === "string" && { maskRequestHost }),
  };
}

interface MadeFrom {
  readonly options: CreateOptions;
  readonly name: string;
}

/** A template of the caller's goes before a snapshot of the same name, and that before a template that another owner shares. */
// eslint-disable-next-line max-params -- what waits takes a signal
async function makeFrom(e2b: E2b, caller: Principal, { options, name }: MadeFrom, signal: AbortSignal): Promise<Sandbox> {
  const { sandboxes } = e2b;
  if (isBase(name)) return sandboxes.create(caller, options, signal);
  const template = findName(name, caller);
  const snapshot = await findSnapshot(sandboxes, caller, name);
  if (template !== undefined && (!snapshot || (await hasOwnTemplate(e2b, caller, name)))) {
    const made = await unlessMissing(sandboxes.create(caller, { ...options, template: toDomainName(template) }, signal));
    if (made) return made;
  }
  if (!snapshot) throw noTemplate(name);
  return sandboxes.create(caller, { ...options, template: snapshot.id }, signal);
}

async function unlessMissing<Made>(work: Promise<Made>): Promise<Made | undefined> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof BelljarError && (cause.code === "TEMPLATE_NOT_FOUND" || cause.code === "SNAPSHOT_NOT_FOUND")) return undefined;
    throw cause;
  }
}

function noTemplate(name: string): BelljarError {
  const advice =
    parseReference(name) === "desktop"
      ? "build it on the server as examples/templates/desktop says, and share it: `belljar template share desktop`"
      : "list yours with `belljar template list`, or use base";
  return new BelljarError("TEMPLATE_NOT_FOUND", `template ${JSON.stringify(name.slice(0, 100))} not found: ${advice}`);
}

function unsupported(what: string): BelljarError {
  return new BelljarError("NOT_SUPPORTED", `This server does not support ${what}`);
}

function invalid(message: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", message);
}
