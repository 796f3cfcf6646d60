import { BelljarError } from "../errors.ts";
import type { NetworkPolicy } from "../network/policy.ts";
import type { Inside } from "../runtime/contract/run.ts";
import type { Runtime } from "../runtime/contract/runtime.ts";
import { type CreateRequest, parseCreateOptions, type SandboxDefaults } from "./create-request.ts";
import {
  assertGranted,
  assertMayShowAgain,
  assertWithoutToken,
  assertWorkspaceGranted,
  cutLimits,
  least,
  requiredByGrant,
} from "./grants.ts";
import type { HomeNetworks } from "./network/home-networks.ts";
import { prepareNetwork } from "./network/prepare-network.ts";
import { newRecord } from "./new-record.ts";
import type { Runtimes } from "./runtimes.ts";
import type { SandboxRecord } from "./sandbox-record.ts";
import { lineageFrom } from "./lineage.ts";
import { type CreateOptions, LOCAL, type Principal, type Quotas } from "./sandbox.ts";
import { toForkDefaults, toWorkspace } from "./state/inherited-options.ts";
import { needStates, noSnapshot } from "./state/state-errors.ts";
import { layersOf, type SnapshotRecord } from "./state/snapshot-record.ts";
import { baseOf, type HomeTemplates, insideOf, type TemplateSource } from "./template-source.ts";
import type { NamedWorkspace } from "./wire/create-schema.ts";
import type { HomeVolumes } from "./volumes/home-volumes.ts";
import { checkWorkspace } from "./workspace/parse-workspace.ts";
import { withWorkspace } from "./workspace/workspace-place.ts";

export interface MakeRecordParts {
  readonly home: string;
  readonly runtimes: Runtimes;
  readonly networks: HomeNetworks;
  readonly defaults: SandboxDefaults;
  readonly standardNetwork: NetworkPolicy;
  readonly quotas: Quotas | undefined;
  /** Default sandboxes of this runtime are stopped at their deadline, and kept. */
  readonly keepsDefaults: (runtime: Runtime) => Promise<boolean>;
  /** A snapshot in the place of a template. */
  readonly findSnapshot: (principal: Principal, text: string) => Promise<SnapshotRecord | undefined>;
  readonly findHidden: (id: string) => Promise<SnapshotRecord | undefined>;
  readonly templates: HomeTemplates | undefined;
  readonly volumes: Pick<HomeVolumes, "toRecord">;
}

export interface MakeWishes {
  readonly principal: Principal;
  readonly options: CreateOptions;
  readonly defaultName?: string | undefined;
  /** The state that it is forked from: what its maker does not say holds as for the original. */
  readonly forkOf?: SnapshotRecord | undefined;
}

export interface MadeRecord {
  readonly record: SandboxRecord;
  /** The snapshot that it begins with. */
  readonly source?: SnapshotRecord | undefined;
}

/** The record of a sandbox that is asked for, with all that its maker may have checked. */
export async function makeRecord(parts: MakeRecordParts, { principal, options, defaultName, forkOf }: MakeWishes): Promise<MadeRecord> {
  assertGranted(options.limits ?? {}, principal);
  const { runtime, source, made } = forkOf ? fromState(parts, principal, forkOf, options) : await chooseBase(parts, principal, options);
  if (options.nestedFilters) assertWithoutToken("nestedFilters", principal);
  const standard = forkOf
    ? toForkDefaults(forkOf, parts.defaults, principal)
    : made
      ? withLimits(parts.defaults, made, principal)
      : parts.defaults;
  const wanted = source ? { ...options, template: source.template, workspace: toWorkspace(source, options.workspace) } : options;
  const stops = options.onDeadline === undefined && defaultName !== undefined && (await parts.keepsDefaults(runtime));
  const request = parseCreateOptions(
    { ...wanted, ...(stops && { onDeadline: "stop" as const }) },
    cutLimits(standard, principal, parts.quotas),
  );
  if (request.autoCheckpoint === "per_call") needStates(runtime);
  const idle = await sleepOf(runtime, request, options);
  const network = await prepareNetwork(principal, options, { networks: parts.networks, standard: parts.standardNetwork });
  const { workspace } = wanted;
  const tookIn = source?.tookIn ?? made?.tookIn;
  if (tookIn !== undefined) assertWorkspaceGranted({ path: tookIn, mode: "copy" }, principal);
  if (workspace) {
    assertWorkspaceGranted(workspace, principal);
    await checkWorkspace(workspace, parts.home);
  }
  const inside = await describe(runtime, { principal, template: request.template, source, made, workspace });
  const inherited = options.bestEffort ? [] : (forkOf?.required ?? []);
  const required = [...new Set([...request.required, ...requiredByGrant(principal), ...inherited])];
  const from = source ?? made;
  const begins = from && {
    ...beginsWith(options.isConfigured ? { ...from, start: undefined } : from),
    ...(tookIn !== undefined && { tookIn }),
  };
  const volumes = options.volumes?.length ? { volumes: await parts.volumes.toRecord(principal, options.volumes, runtime) } : {};
  const hidden = options.isHidden && { isHidden: true };
  const record = newRecord(
    principal,
    { ...request, ...idle, ...network, ...hidden, ...volumes, runtime: runtime.name, inside, required, ...begins },
    defaultName,
  );
  return { record, source };
}

/** Whoever shares a template does not say how much sandboxes of others may use. */
function withLimits(defaults: SandboxDefaults, { limits = {}, owner }: TemplateSource, principal: Principal): SandboxDefaults {
  return { ...defaults, ...(owner === principal.id ? limits : least(defaults, limits)) };
}

/** What the configuration says has no effect where it cannot be; what a maker says is refused. */
async function sleepOf(
  runtime: Runtime,
  { pauseIdleMs }: CreateRequest,
  named: CreateOptions,
): Promise<{ readonly pauseIdleMs?: number | undefined }> {
  if (pauseIdleMs === undefined || (await runtime.probe()).sleep) return {};
  if (named.pauseIdleMs === undefined || named.bestEffort) return { pauseIdleMs: undefined };
  throw new BelljarError(
    "NOT_SUPPORTED",
    "This host cannot pause a sandbox that is idle (`belljar doctor` says why): leave out `pauseIdleMs`, or set it to 0",
  );
}

interface ChosenBase {
  readonly runtime: Runtime;
  readonly source?: SnapshotRecord;
  readonly made?: TemplateSource;
}

type Begins = Pick<SandboxRecord, "base" | "user" | "start" | "lineage">;

function beginsWith(from: SnapshotRecord | TemplateSource): Begins {
  const { base, user, start } = from;
  const lineage = "lineage" in from ? from.lineage : lineageFrom({ sandbox: from.id, at: from.createdAt, layers: from.layers });
  return { lineage, ...(base !== undefined && { base }), ...(user !== undefined && { user }), ...(start && { start }) };
}

/** A name of a template goes before the same name of a snapshot. */
async function chooseBase(parts: MakeRecordParts, principal: Principal, options: CreateOptions): Promise<ChosenBase> {
  const { template, runtime: name, isConfigured, hiddenSnapshot } = options;
  if (hiddenSnapshot !== undefined) {
    const source = await parts.findHidden(hiddenSnapshot);
    if (!source) throw noSnapshot(hiddenSnapshot);
    return fromState(parts, principal, source, options);
  }
  if (template === undefined) return { runtime: parts.runtimes.choose(principal, name) };
  const runtime = parts.runtimes.choose(principal, name);
  if ((await runtime.layers.templates()).some((one) => one.name === template)) return { runtime };
  const made = await parts.templates?.find(principal, template, isConfigured ? LOCAL.id : undefined);
  if (made) assertMayShowAgain(principal, made);
  if (made) return { runtime: ofSource(parts, principal, made, { what: `The template "${template}"`, name }), made };
  const source = isConfigured ? undefined : await parts.findSnapshot(principal, template);
  if (source) assertMayShowAgain(principal, source);
  return source ? fromState(parts, principal, source, options) : { runtime };
}

// eslint-disable-next-line max-params -- as `chooseBase`
function fromState(parts: MakeRecordParts, principal: Principal, source: SnapshotRecord, { runtime: name }: CreateOptions): ChosenBase {
  return { runtime: ofSource(parts, principal, source, { what: `Snapshot ${source.id}`, name }), source };
}

/** What was frozen by one runtime no other one can start. */
// eslint-disable-next-line max-params -- as `chooseBase`
function ofSource(
  { runtimes }: MakeRecordParts,
  principal: Principal,
  { runtime }: Pick<SnapshotRecord, "runtime">,
  { what, name }: { readonly what: string; readonly name: string | undefined },
): Runtime {
  if (name === undefined || name === runtime) return runtimes.choose(principal, runtime);
  throw new BelljarError("ARGUMENTS_INVALID", `${what} is of the runtime "${runtime}": leave the runtime out`);
}

interface Shown {
  readonly principal: Principal;
  readonly template: string;
  readonly source: SnapshotRecord | undefined;
  readonly made: TemplateSource | undefined;
  readonly workspace: NamedWorkspace | undefined;
}

/** Files of a state name the folders that its sandbox had. */
async function describe(runtime: Runtime, { principal, template, source, made, workspace }: Shown): Promise<Inside> {
  const layers = source ? layersOf(source) : made?.layers;
  const below = await runtime.layers.describe({ template: baseOf({ template, ...(source ?? made) }), ...(layers && { layers }) });
  const inside = made ? insideOf(made, below) : below;
  if (source && (source.workspace !== undefined || workspace === undefined)) return source.inside;
  return withWorkspace(inside, principal, workspace);
}
