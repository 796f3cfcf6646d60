import { randomUUID } from "node:crypto";
import { BelljarError } from "../errors.ts";
import type { Principal, RefusalWatch, Sandbox } from "../sandbox/sandbox.ts";
import type { Audit, AuditedCall } from "../audit/audit.ts";
import { parseArguments } from "./arguments.ts";
import type { Caller, ChangeListener } from "./caller.ts";
import type { CallerSandboxesOptions, DefaultChoice, Surroundings } from "./caller-sandboxes.ts";
import { CallerSandboxes } from "./caller-sandboxes.ts";
import { CallCheckpoints } from "./call-checkpoints.ts";
import type {
  ApproveOptions,
  CallLogLevel,
  InnerCallOptions,
  Progress,
  RunCode,
  Tool,
  ToolContext,
  ToolDescription,
  ToolFinder,
  ToolResult,
} from "./tool.ts";
import { type Approval, type ApprovalParts, approveCall, isAnothers, tellCall } from "./approve-call.ts";
import type { CallApprovals } from "../approvals/call-approvals.ts";
import { askThrough } from "./question.ts";
import { assertForCode, innerCall, isForCode } from "./inner-call.ts";
import type { KeptResults } from "./kept-results.ts";
import { createKeptResults } from "./kept-results.ts";
import type { Policy, Quota } from "./policy.ts";
import { ALLOW_ALL, NO_QUOTA } from "./policy.ts";
import type { ResultLimits } from "./result.ts";
import { errorResult, resultBytes, shapeResult, withNotice } from "./result.ts";
import { SandboxLog } from "./sandbox-log.ts";
import type { ListPage } from "./tool-lists.ts";
import { ToolLists } from "./tool-lists.ts";
import { WHOLE_SCOPE } from "./tool-scope.ts";
import type { ToolScope } from "./tool-scope.ts";
import { ToolShelves } from "./tool-shelves.ts";
import type { ToolSource } from "./tool-source.ts";

/**
 * The tools of all sources, and the one door through which every call goes. Each principal has its own names: nothing here tells one
 * principal about another's tools.
 */
export interface Catalog {
  /** What the principal is shown. */
  list(principal: Principal): readonly ToolDescription[];
  /** All that the principal may call, shown or not. */
  listAll(principal: Principal): readonly ToolDescription[];
  /** What `list` answers, as the bytes of JSON arrays, each serialised once per change. Throws `ARGUMENTS_INVALID` for an unknown cursor. */
  listPage(principal: Principal, cursor?: string): ListPage;
  /** How many tools of other servers the list does not show, and from where, for the client's instructions. Undefined if it shows all. */
  tellUnlisted(principal: Principal): string | undefined;
  /** What was cut of results. */
  readonly results: KeptResults;
  readonly sandboxLog: Pick<SandboxLog, "lines">;
  /** Calls back after each change of the lists, until the returned function is called. */
  onChange(listener: ChangeListener): () => void;
  /**
   * Finds, authorises, counts, validates, runs, shapes and records. Every failure is a result with `isError`, which a model can
   * act on, but one: an unknown name rejects with `TOOL_NOT_FOUND`. What is no `BelljarError` is logged and answers `INTERNAL`.
   */
  call(principal: Principal, name: string, args: unknown, options: CallOptions): Promise<ToolResult>;
}

export interface CallOptions extends Omit<Caller, "principal"> {
  /** Aborts when the caller cancels or goes away. */
  readonly signal: AbortSignal;
  /** Under which it stands in the audit and the log. Absent: a fresh one. */
  readonly requestId?: string;
  readonly progress?: (progress: Progress) => void;
  /** What a person who watches the client's log may want to know. */
  readonly log?: (level: CallLogLevel, data: unknown, logger?: string) => void;
}

export interface CatalogOptions {
  /** If two sources have a tool of one name, a principal gets the tool of the earlier source. */
  readonly sources: readonly ToolSource[];
  readonly sandboxes: CallerSandboxesOptions["sandboxes"];
  readonly defaultSandbox: (principal: Principal, caller: Omit<Caller, "principal">) => DefaultChoice;
  /** Absent: a model is told nothing of them. */
  readonly surroundings?: Surroundings;
  readonly audit?: Audit;
  /** Which tools a principal has. Absent: all. */
  readonly scope?: (principal: Principal) => ToolScope;
  /** Is given a function to call when `scope` answers a principal otherwise than before. */
  readonly onScopeChange?: (listener: ChangeListener) => void;
  /** Which built-in tools a list shows to whoever asked for no toolsets. Absent: all. */
  readonly isDefault?: (tool: Tool) => boolean;
  readonly policy?: Policy;
  readonly quota?: Quota;
  /** Absent: calls that a person must approve are asked through the client alone. */
  readonly approvals?: CallApprovals;
  readonly log?: CatalogLog;
  readonly limits?: Partial<ResultLimits>;
}

export interface CatalogLog {
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

const TEXT_BYTES = 524_288;
const DEPTH_MAX = 8;
/** A structure may be longer than the text, as it has the names too. The data is enough for what models take of one image. */
const LIMITS: ResultLimits = { textBytes: TEXT_BYTES, dataBytes: 16 * TEXT_BYTES, structureCharacters: 4 * TEXT_BYTES };

export function createCatalog(options: CatalogOptions): Catalog {
  const { scope: scopeOf = () => WHOLE_SCOPE, isDefault = () => true } = options;
  const shelves = new ToolShelves(options.sources);
  options.onScopeChange?.((ownerId) => shelves.changed(ownerId));
  const lists = new ToolLists({ shelves, scopeOf, isDefault });
  const keeping = { results: createKeptResults(), sandboxLog: new SandboxLog() };
  const door = new Door(lists, options, keeping);
  return {
    ...keeping,
    list: (principal) => lists.shown(principal),
    listAll: (principal) => lists.reachable(principal),
    listPage: (principal, cursor) => lists.page(principal, cursor),
    tellUnlisted: (principal) => lists.tellUnlisted(principal),
    onChange: (listener) => shelves.onChange(listener),
    call: (principal, name, args, call) => door.call(principal, name, args, call),
  };
}

interface Keeping {
  readonly results: KeptResults;
  readonly sandboxLog: SandboxLog;
}

/** What a call leaves beside its result. */
interface Trail {
  /** What the model must know first. A nested call leaves it to the outer call, whose result is the one that is shown. */
  readonly notices: string[];
  sandbox?: Sandbox;
  code?: RunCode;
  /** How a person approved it. */
  approval?: Approval | "outer";
  /** What the sandbox's network refuses during the call. Absent if the call runs no programs. */
  refusals?: RefusalWatch;
}

/** What a nested call knows about the outer call. */
interface Nested {
  readonly parent: string;
  readonly depth: number;
  readonly notices: string[];
}

interface WantedSandbox {
  /** Absent: the caller's default one. */
  readonly id: string | undefined;
  readonly asIs?: boolean;
}

class Door {
  readonly #lists: ToolLists;
  readonly #options: CatalogOptions;
  readonly #callers: CallerSandboxes;
  readonly #keeping: Keeping;
  /** The results of nested calls. Each was shaped, counted and measured by its own call. */
  readonly #passedOn = new WeakSet<ToolResult>();

  constructor(lists: ToolLists, options: CatalogOptions, keeping: Keeping) {
    this.#keeping = keeping;
    this.#lists = lists;
    this.#options = options;
    this.#callers = new CallerSandboxes(options);
  }

  async call(principal: Principal, name: string, args: unknown, call: DoorCall): Promise<ToolResult> {
    const { requestId = randomUUID(), nested } = call;
    const startedAt = performance.now();
    const trail: Trail = { notices: nested?.notices ?? [] };
    const outcome = await this.#attempt(principal, name, args, { ...call, requestId, trail })
      .catch((error: unknown) => this.#advise(error, trail, args))
      .catch((error: unknown) => this.#translate(error, { requestId, tool: name, signal: call.signal }));
    await this.#tellRefusals(trail, outcome);
    const shown = nested ? outcome.result : withNotice(trail.notices, outcome.result);
    const audited = {
      requestId,
      ...(nested && { parent: nested.parent }),
      principal: principal.id,
      tool: name,
      arguments: args,
      outcome: outcome.code ?? (outcome.result.isError ? "error" : "ok"),
      resultBytes: this.#passedOn.has(outcome.result) ? 0 : resultBytes(shown),
      durationMs: performance.now() - startedAt,
      ...(trail.sandbox && { sandbox: trail.sandbox.id }),
      ...(trail.code && toAudited(trail.code)),
      ...(trail.approval && { approval: trail.approval }),
    };
    this.#options.audit?.record(audited);
    await this.#options.audit?.written();
    if (trail.sandbox) this.#keeping.sandboxLog.note(trail.sandbox.id, audited);
    // Of a name in its arguments a tool says so in its result.
    if (outcome.code === "TOOL_NOT_FOUND" && !this.#lists.has(callerOf(principal, call), name)) throw outcome.error;
    return shown;
  }

  async #callInside(principal: Principal, name: string, args: unknown, outer: TrailedCall): Promise<ToolResult> {
    const { trail, requestId: parent, nested, ...call } = outer;
    const depth = (nested?.depth ?? 0) + 1;
    if (depth > DEPTH_MAX) throw new BelljarError("FORBIDDEN", `Calls are nested deeper than ${DEPTH_MAX}; call the tool itself`);
    const result = await this.call(principal, name, args, { ...call, nested: { parent, depth, notices: trail.notices } });
    this.#passedOn.add(result);
    return result;
  }

  async #attempt(principal: Principal, name: string, args: unknown, call: TrailedCall): Promise<Outcome> {
    const { policy = ALLOW_ALL, quota = NO_QUOTA, audit, limits } = this.#options;
    const tool = this.#lists.find(callerOf(principal, call), name);
    if (call.isForeign) assertForCode(tool);
    await policy.authorise(principal, tool);
    using place = await quota.enter(principal, tool);
    const parsed = await parseArguments(tool, args, principal.id);
    // A tool that delegates leaves it to the tool that it calls.
    if (!tool.listsOrEnds && !tool.delegates) audit?.assertWritable();
    call.signal.throwIfAborted();
    if (tool.needsApproval) await this.#approve(principal, tool, parsed, call);
    const result = await tool.run(this.#context(principal, tool, call), parsed);
    if (this.#passedOn.has(result)) return { result };
    const keep = (text: string): string => this.#keeping.results.keep(principal, text);
    const shaped = shapeResult(result, { ...LIMITS, ...limits }, keep);
    place.count(resultBytes(shaped));
    return { result: shaped };
  }

  // eslint-disable-next-line max-params -- as `#attempt`
  async #approve(principal: Principal, tool: Tool, args: unknown, call: TrailedCall): Promise<void> {
    const named = { principal: principal.id, tool: tool.name, arguments: args };
    call.trail.approval = call.isApproved
      ? "outer"
      : await approveCall(named, tellCall(tool, args), this.#approvalParts(call, { atMachine: isAnothers(tool, principal) }));
  }

  #approvalParts({ client, ...call }: TrailedCall, { atMachine = false }: ApproveOptions): ApprovalParts {
    return { ...call, ...(client && !atMachine && { client }), approvals: this.#options.approvals };
  }

  #finder(principal: Principal): ToolFinder {
    return {
      search: (query, limit) => this.#lists.search(principal, query, limit),
      describe: (name) => this.#lists.describe(principal, name),
      forCode: () => this.#lists.reachableTools(principal).filter(isForCode),
    };
  }

  #context(principal: Principal, tool: Tool, call: TrailedCall): ToolContext {
    const { results } = this.#keeping;
    const checkpoints = new CallCheckpoints(tool, call.signal);
    return {
      principal,
      ...(call.client && { client: call.client }),
      ...(call.client?.id !== undefined && { clientId: call.client.id }),
      signal: call.signal,
      sandbox: async (id, options) => {
        const sandbox = await this.#findSandbox(principal, call, { id, ...options });
        call.trail.sandbox ??= sandbox;
        const unsaved = options?.asIs ? undefined : await checkpoints.before(sandbox);
        if (unsaved !== undefined) call.trail.notices.push(unsaved);
        if (tool.annotations.openWorldHint || tool.tellsRefusals) call.trail.refusals ??= await watchRefusals(sandbox);
        return sandbox;
      },
      results: { keep: (text, how) => results.keep(principal, text, how), read: (id, range) => results.read(principal, id, range) },
      progress: (progress) => call.progress?.(progress),
      log: (level, data, logger) => call.log?.(level, data, logger),
      tools: this.#finder(principal),
      approve: async (args, shown, options = {}) => {
        const named = { principal: principal.id, tool: tool.name, arguments: args };
        call.trail.approval = await approveCall(named, shown, this.#approvalParts(call, options));
      },
      ask: (question) => askThrough(call.client, question, call.signal),
      call: (name, args, inner) => this.#callInside(principal, name, args, innerCall(call, inner)),
      runs: (code) => void (call.trail.code = code),
    };
  }

  /** A failure to tell them is no failure of the call, whose work is done. An error that says what was refused says it once. */
  async #tellRefusals({ refusals, notices }: Trail, { code }: Outcome): Promise<void> {
    using watch = refusals;
    if (code === "NETWORK_DENIED") return;
    const lines = (await watch?.tell().catch(() => [])) ?? [];
    if (lines.length > 0) notices.push(lines.join("\n"));
  }

  async #findSandbox(principal: Principal, call: TrailedCall, { id, asIs = false }: WantedSandbox): Promise<Sandbox> {
    if (id !== undefined && asIs) return this.#options.sandboxes.get(principal, id);
    const found = id === undefined ? this.#callers.resolve(principal, call, call.signal) : this.#callers.find(principal, id, call);
    const { sandbox, notices } = await found;
    for (const notice of notices) {
      call.trail.notices.push(notice);
      call.log?.("notice", notice);
    }
    return sandbox;
  }

  /** Rejects with the error, with advice if a path of the host was looked for in the sandbox. */
  async #advise(error: unknown, { sandbox }: Trail, args: unknown): Promise<never> {
    if (!sandbox || !(error instanceof BelljarError) || error.code !== "FILE_NOT_FOUND") throw error;
    const hint = await this.#options.surroundings?.findHostHint(sandbox, args, error.message).catch(() => undefined);
    throw hint === undefined ? error : new BelljarError("FILE_NOT_FOUND", `${error.message}. ${hint}`, { cause: error });
  }

  #translate(error: unknown, { requestId, tool, signal }: { requestId: string; tool: string; signal: AbortSignal }): Outcome {
    const known = toBelljarError(error, signal);
    if (known) return { result: errorResult(known), code: known.code, error: known };
    this.#options.log?.error({ err: error, requestId, tool }, "A tool failed in a way that was not foreseen");
    const message = `The call failed inside Belljar; its log names the cause under request ${requestId}`;
    const internal = new BelljarError("INTERNAL", message, { cause: error });
    return { result: errorResult(internal), code: internal.code, error: internal };
  }
}

function toAudited({ sandbox, ...code }: RunCode): Pick<AuditedCall, "code" | "sandbox"> {
  return { code, ...(sandbox !== undefined && { sandbox }) };
}

/** Undefined if it cannot be watched, as while it is stopped: the call itself says why. */
function watchRefusals(sandbox: Sandbox): Promise<RefusalWatch | undefined> {
  return sandbox.watchRefusals().catch(() => undefined);
}

function callerOf(principal: Principal, { client }: CallOptions): Caller {
  return { principal, ...(client && { client }) };
}

type DoorCall = CallOptions & Pick<InnerCallOptions, "isForeign" | "isApproved"> & { readonly nested?: Nested };

type TrailedCall = DoorCall & { readonly requestId: string; readonly trail: Trail };

interface Outcome {
  readonly result: ToolResult;
  readonly code?: BelljarError["code"];
  readonly error?: BelljarError;
}

function toBelljarError(error: unknown, signal: AbortSignal): BelljarError | undefined {
  if (error instanceof BelljarError) return error.code === "INTERNAL" ? undefined : error;
  const isAbort = signal.aborted && (error === signal.reason || (error instanceof Error && error.name === "AbortError"));
  return isAbort ? new BelljarError("CANCELLED", "The call was cancelled", { cause: error }) : undefined;
}
