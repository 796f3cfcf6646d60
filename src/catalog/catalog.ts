import { randomUUID } from "node:crypto";
import { BelljarError } from "../errors.ts";
import type { Principal, Sandboxes } from "../sandbox/sandbox.ts";
import type { Audit } from "./audit.ts";
import { parseArguments } from "./arguments.ts";
import type { Caller, DefaultSandbox } from "./default-sandboxes.ts";
import { DefaultSandboxes } from "./default-sandboxes.ts";
import type { ToolDescription } from "./description.ts";
import type { Policy, Quota } from "./policy.ts";
import { ALLOW_ALL, NO_QUOTA } from "./policy.ts";
import { ToolRegistry } from "./registry.ts";
import { errorResult, shapeResult, withNotice } from "./result.ts";
import type { Tool, ToolContext, ToolResult } from "./tool.ts";

/** All tools, and the one door through which every call goes, whoever brought it. */
export interface Catalog {
  list(principal: Principal): readonly ToolDescription[];
  /** The same as a JSON array, serialised once per change. */
  listBytes(principal: Principal): Buffer;
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
  readonly progress?: (message: string) => void;
}

export interface CatalogOptions {
  readonly tools: readonly Tool[];
  readonly sandboxes: Pick<Sandboxes, "get" | "default">;
  readonly defaultSandbox: (principal: Principal, caller: Caller) => DefaultSandbox;
  readonly audit?: Audit;
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

export function createCatalog(options: CatalogOptions): Catalog {
  const registry = new ToolRegistry(options.tools);
  const door = new Door(registry, options);
  return {
    list: () => registry.descriptions(),
    listBytes: () => registry.bytes(),
    onChange: (listener) => registry.onChange(listener),
    add: (tools) => registry.add(tools),
    call: (principal, name, args, call) => door.call(principal, name, args, call),
  };
}

class Door {
  readonly #registry: ToolRegistry;
  readonly #options: CatalogOptions;
  readonly #defaults: DefaultSandboxes;

  constructor(registry: ToolRegistry, options: CatalogOptions) {
    this.#registry = registry;
    this.#options = options;
    this.#defaults = new DefaultSandboxes(options);
  }

  async call(principal: Principal, name: string, args: unknown, call: CallOptions): Promise<ToolResult> {
    const requestId = randomUUID();
    const startedAt = performance.now();
    const outcome = await this.#attempt(principal, name, args, call).catch((error: unknown) =>
      this.#translate(error, { requestId, tool: name, signal: call.signal }),
    );
    this.#options.audit?.record({
      requestId,
      principal: principal.id,
      tool: name,
      arguments: args,
      outcome: outcome.code ?? (outcome.result.isError ? "error" : "ok"),
      durationMs: performance.now() - startedAt,
    });
    if (outcome.code === "TOOL_NOT_FOUND") throw outcome.error;
    return outcome.result;
  }

  async #attempt(principal: Principal, name: string, args: unknown, call: CallOptions): Promise<Outcome> {
    const { policy = ALLOW_ALL, quota = NO_QUOTA, audit, maxTextBytes = MAX_TEXT_BYTES } = this.#options;
    const tool = this.#registry.find(name);
    await policy.authorise(principal, tool);
    using _place = await quota.enter(principal, tool);
    const parsed = parseArguments(tool, args);
    audit?.assertWritable();
    call.signal.throwIfAborted();
    const notices: string[] = [];
    const result = await tool.run(this.#context(principal, call, notices), parsed);
    return { result: withNotice(notices, shapeResult(result, maxTextBytes)) };
  }

  #context(principal: Principal, call: CallOptions, notices: string[]): ToolContext {
    return {
      principal,
      signal: call.signal,
      sandbox: async (id) => {
        if (id !== undefined) return this.#options.sandboxes.get(principal, id);
        const { sandbox, notice } = await this.#defaults.resolve(principal, call, call.signal);
        if (notice !== undefined && !notices.includes(notice)) notices.push(notice);
        return sandbox;
      },
      progress: (message) => call.progress?.(message),
    };
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
