import { randomUUID } from "node:crypto";
import { BelljarError } from "../errors.ts";
import type { Principal, Sandbox, Sandboxes } from "../sandbox/sandbox.ts";
import type { Audit } from "../audit/audit.ts";
import { parseArguments } from "./arguments.ts";
import type { Caller, DefaultChoice } from "./caller-sandboxes.ts";
import { CallerSandboxes } from "./caller-sandboxes.ts";
import type { CallLogLevel, ForwardedCall, Tool, ToolContext, ToolDescription, ToolFinder, ToolResult } from "./tool.ts";
import type { KeptResults } from "./kept-results.ts";
import { createKeptResults } from "./kept-results.ts";
import type { Policy, Quota } from "./policy.ts";
import { ALLOW_ALL, NO_QUOTA } from "./policy.ts";
import type { ListPage } from "./registry.ts";
import { ToolRegistry } from "./registry.ts";
import { assertStructureFits, errorResult, resultBytes, shapeResult, withNotice } from "./result.ts";
import { SandboxLog } from "./sandbox-log.ts";
import { WHOLE_SCOPE } from "./tool-scope.ts";
import type { ToolScope } from "./tool-scope.ts";

/** All tools, and the one door through which every call goes, whoever brought it. */
export interface Catalog {
  /** What the principal is shown. */
  list(principal: Principal): readonly ToolDescription[];
  /** All that the principal may call, shown or not. */
  listAll(principal: Principal): readonly ToolDescription[];
  /** What `list` answers, as the bytes of JSON arrays, each serialised once per change. Throws `ARGUMENTS_INVALID` for an unknown cursor. */
  listPage(principal: Principal, cursor?: string): ListPage;
  /** What was cut of results. */
  readonly results: KeptResults;
  readonly sandboxLog: Pick<SandboxLog, "lines">;
  /** Calls back after each change of the list, until the returned function is called. */
  onChange(listener: () => void): () => void;
  /** Adds tools; the returned function takes them away. Rejects a name that is taken with `ARGUMENTS_INVALID`. */
  add(tools: readonly Tool[]): () => void;
  /**
   * Finds, authorises, counts, validates, runs, shapes and records. Every failure is a result with `isError`, which a model can
   * act on, but one: an unknown name rejects with `TOOL_NOT_FOUND`. What is no `BelljarError` is logged and answers `INTERNAL`.
   */
  call(principal: Principal, name: string, args: unknown, options: CallOptions): Promise<ToolResult>;
}

export interface CallOptions extends Caller {
  /** Aborts when the caller cancels or goes away. */
  readonly signal: AbortSignal;
  /** Under which it stands in the audit and the log. Absent: a fresh one. */
  readonly requestId?: string;
  readonly progress?: (message: string) => void;
  /** What a person who watches the client's log may want to know. */
  readonly log?: (level: CallLogLevel, message: string) => void;
}

export interface CatalogOptions {
  readonly tools: readonly Tool[];
  readonly sandboxes: Pick<Sandboxes, "get" | "default">;
  readonly defaultSandbox: (principal: Principal, caller: Caller) => DefaultChoice;
  readonly audit?: Audit;
  /** Which tools a principal has. Absent: all. */
  readonly scope?: (principal: Principal) => ToolScope;
  /** Which built-in tools a list shows to whoever asked for no toolsets. Absent: all. */
  readonly isDefault?: (tool: Tool) => boolean;
  readonly policy?: Policy;
  readonly quota?: Quota;
  readonly log?: CatalogLog;
  /** Of a result's text, in bytes. */
  readonly maxTextBytes?: number;
}

export interface CatalogLog {
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

const MAX_TEXT_BYTES = 524_288;
/** How much longer than its text a result's structure may be: it has the names too. */
const STRUCTURE_FACTOR = 4;

export function createCatalog(options: CatalogOptions): Catalog {
  const registry = new ToolRegistry(options.tools, options.isDefault);
  const scopeOf = options.scope ?? (() => WHOLE_SCOPE);
  const keeping = { results: createKeptResults(), sandboxLog: new SandboxLog() };
  const door = new Door(registry, options, keeping);
  return {
    ...keeping,
    list: (principal) => registry.descriptions(scopeOf(principal)),
    listAll: (principal) => registry.reachable(scopeOf(principal)),
    listPage: (principal, cursor) => registry.page(scopeOf(principal), cursor),
    onChange: (listener) => registry.onChange(listener),
    add: (tools) => registry.add(tools),
    call: (principal, name, args, call) => door.call(principal, name, args, call),
  };
}

interface Keeping {
  readonly results: KeptResults;
  readonly sandboxLog: SandboxLog;
}

/** What a call leaves beside its result. */
interface Trail {
  readonly notices: string[];
  sandbox?: string;
}

class Door {
  readonly #registry: ToolRegistry;
  readonly #options: CatalogOptions;
  readonly #defaults: CallerSandboxes;
  readonly #keeping: Keeping;

  constructor(registry: ToolRegistry, options: CatalogOptions, keeping: Keeping) {
    this.#keeping = keeping;
    this.#registry = registry;
    this.#options = options;
    this.#defaults = new CallerSandboxes(options);
  }

  async call(principal: Principal, name: string, args: unknown, call: CallOptions): Promise<ToolResult> {
    const { requestId = randomUUID() } = call;
    const startedAt = performance.now();
    const trail: Trail = { notices: [] };
    const outcome = await this.#attempt(principal, name, args, { ...call, trail }).catch((error: unknown) =>
      this.#translate(error, { requestId, tool: name, signal: call.signal }),
    );
    if ("forwarded" in outcome) return this.#forward(principal, outcome.forwarded, call);
    const audited = {
      requestId,
      principal: principal.id,
      tool: name,
      arguments: args,
      outcome: outcome.code ?? (outcome.result.isError ? "error" : "ok"),
      resultBytes: resultBytes(outcome.result),
      durationMs: performance.now() - startedAt,
      ...(trail.sandbox !== undefined && { sandbox: trail.sandbox }),
    };
    this.#options.audit?.record(audited);
    if (trail.sandbox !== undefined) this.#keeping.sandboxLog.note(trail.sandbox, audited);
    // Of a name in its arguments a tool says so in its result.
    if (outcome.code === "TOOL_NOT_FOUND" && !this.#registry.has(name)) throw outcome.error;
    return outcome.result;
  }

  /** The call that another one stands for; a model can act on a name that there is not. */
  async #forward(principal: Principal, inner: ForwardedCall, call: CallOptions): Promise<ToolResult> {
    try {
      return await this.call(principal, inner.name, inner.arguments, call);
    } catch (error) {
      if (error instanceof BelljarError) return errorResult(error);
      throw error;
    }
  }

  async #attempt(principal: Principal, name: string, args: unknown, call: TrailedCall): Promise<Outcome | Forwarded> {
    const { policy = ALLOW_ALL, quota = NO_QUOTA, audit, maxTextBytes = MAX_TEXT_BYTES } = this.#options;
    const tool = this.#registry.find(name, this.#scopeOf(principal));
    await policy.authorise(principal, tool);
    if (tool.forward) return { forwarded: this.#target(tool, tool.forward(parseArguments(tool, args))) };
    using place = await quota.enter(principal, tool);
    const parsed = parseArguments(tool, args);
    if (!tool.listsOrEnds) audit?.assertWritable();
    call.signal.throwIfAborted();
    const result = await tool.run(this.#context(principal, call), parsed);
    const keep = (text: string): string => this.#keeping.results.keep(principal, text);
    assertStructureFits(result, STRUCTURE_FACTOR * maxTextBytes, keep);
    const shaped = withNotice(call.trail.notices, shapeResult(result, maxTextBytes, keep));
    place.count(resultBytes(shaped));
    return { result: shaped };
  }

  /** One step is enough for any call, and ends. */
  #target(tool: Tool, inner: ForwardedCall): ForwardedCall {
    if (inner.name !== tool.name) return inner;
    throw new BelljarError("ARGUMENTS_INVALID", `${tool.name} cannot call itself; name the tool to call`);
  }

  #scopeOf(principal: Principal): ToolScope {
    return this.#options.scope?.(principal) ?? WHOLE_SCOPE;
  }

  #finder(principal: Principal): ToolFinder {
    return {
      search: (query, limit) => this.#registry.search(query, limit, this.#scopeOf(principal)),
      describe: (name) => this.#registry.describe(name, this.#scopeOf(principal)),
    };
  }

  #context(principal: Principal, call: TrailedCall): ToolContext {
    const { results } = this.#keeping;
    return {
      principal,
      signal: call.signal,
      sandbox: async (id) => {
        const sandbox = id === undefined ? await this.#defaultSandbox(principal, call) : await this.#options.sandboxes.get(principal, id);
        call.trail.sandbox ??= sandbox.id;
        return sandbox;
      },
      results: { keep: (text) => results.keep(principal, text), read: (id, range) => results.read(principal, id, range) },
      progress: (message) => call.progress?.(message),
      log: (level, message) => call.log?.(level, message),
      tools: this.#finder(principal),
    };
  }

  async #defaultSandbox(principal: Principal, call: TrailedCall): Promise<Sandbox> {
    const { notices } = call.trail;
    const { sandbox, notice } = await this.#defaults.resolve(principal, call, call.signal);
    if (notice === undefined || notices.includes(notice)) return sandbox;
    notices.push(notice);
    call.log?.("notice", notice);
    return sandbox;
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

type TrailedCall = CallOptions & { readonly trail: Trail };

interface Outcome {
  readonly result: ToolResult;
  readonly code?: BelljarError["code"];
  readonly error?: BelljarError;
}

interface Forwarded {
  readonly forwarded: ForwardedCall;
}

function toBelljarError(error: unknown, signal: AbortSignal): BelljarError | undefined {
  if (error instanceof BelljarError) return error.code === "INTERNAL" ? undefined : error;
  const isAbort = signal.aborted && (error === signal.reason || (error instanceof Error && error.name === "AbortError"));
  return isAbort ? new BelljarError("CANCELLED", "The call was cancelled", { cause: error }) : undefined;
}
