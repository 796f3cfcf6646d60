import type * as z from "zod";
import type { Principal, Sandbox } from "../sandbox/sandbox.ts";
import type { DeepReadonly } from "../sandbox/wire/create-schema.ts";
import type { Accept } from "./accept.ts";
import type { Answer, CallClient, Question } from "./question.ts";
import type { JsonSchema, ToolSchema } from "./tool-schema.ts";
import { zodSchema } from "./tool-schema.ts";

/** One callable entry of the catalog. A tool never checks tokens or quotas and knows no transport. */
export interface Tool<Arguments = unknown> {
  /** `verb_noun`, at most 40 characters. */
  readonly name: string;
  readonly title: string;
  /** For a model: when to use it and what comes back; below 2,048 characters. */
  readonly description: string;
  readonly toolset: string;
  /** Absent: built in. */
  readonly origin?: "dynamic" | "proxied";
  /** Fields that another server gave it, beside those that Belljar reads. Lists show them as they came. */
  readonly beside?: Readonly<Record<string, unknown>>;
  /** Of a tool that is not built in: lists do not show it unless they show all; a search finds it. */
  readonly isUnlisted?: true;
  /**
   * `discovery`: reaches the tools that a list does not show; is in every scope, and listed only beside such tools.
   * `support`: what other tools' results rely on; comes with every toolset.
   */
  readonly role?: "discovery" | "support";
  readonly annotations: {
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
  /** Set: it only lists or ends, so it runs also while the audit cannot be written, as on a full disk. */
  readonly listsOrEnds?: true;
  /** Set: its result says what the network refused meanwhile, as does that of every tool with `openWorldHint`. */
  readonly tellsRefusals?: true;
  readonly input: ToolSchema<Arguments>;
  /** Of a result that is data. Absent: the tool answers a text or pictures, and hosts are shown no schema of it. */
  readonly output?: ToolSchema;
  /** Of the value of a result that is text; for people and programs, no host is shown it. */
  readonly value?: ToolSchema;
  /** Where a proxied tool comes from, and what callers call it there. */
  readonly from?: { readonly server: string; readonly tool: string };
  /** The id of the principal whose server a proxied tool is of. Calls by anybody else are approved at the machine alone. */
  readonly serverOwner?: string;
  /** Of a built-in tool that no list shows by default: a list shows it to whoever has tools of that origin. */
  readonly shownBeside?: NonNullable<Tool["origin"]>;
  /** Set: a person approves each call of it. */
  readonly needsApproval?: true;
  /** Set: no code of a user's calls it. It changes which tools, servers or secrets there are. */
  readonly notForCode?: true;
  /**
   * Set: it runs a program that does nothing but call tools, each through the door. So callers that may only read have it, and no code calls
   * it.
   */
  readonly callsTools?: true;
  run(context: ToolContext, args: Arguments): Promise<ToolResult>;
  /**
   * If set, the tool only does what the tool does that it calls. Its own annotations then count only for callers that may call every tool.
   * It runs even while the audit cannot be written.
   */
  readonly delegates?: true;
}

export interface ToolContext {
  readonly principal: Principal;
  /** The same for all calls of one session or connection. Absent for a client that keeps none. */
  readonly clientId?: string;
  /** The client, for a tool that relays what another server asks and tells. */
  readonly client?: CallClient;
  /** Aborts when the caller cancels or goes away; the work must stop with it. */
  readonly signal: AbortSignal;
  /**
   * The sandbox that `id` names, or the caller's default one. One that is stopped is started again, and the result says so first. `asIs`:
   * one that is named stays as it is.
   */
  sandbox(id?: string, options?: { readonly asIs?: boolean }): Promise<Sandbox>;
  /** Tells the caller how far the work is. Dropped if the caller did not ask, or if the number is not larger than the last one. */
  progress(progress: Progress): void;
  /** For a person who watches the client's log; dropped where there is none. */
  log(level: CallLogLevel, data: unknown, logger?: string): void;
  /** The caller's tools, listed or not. */
  readonly tools: ToolFinder;
  /**
   * Asks the person at the caller's client. Rejects with `PERSON_UNREACHABLE` where nobody can be asked or nobody answers in time, and
   * with `ARGUMENTS_INVALID` for an answer that is not as the form says.
   */
  ask<Form>(question: Question<Form>): Promise<Answer<Form>>;
  /**
   * A call of another tool by the same caller through the same door: authorised, counted and audited by itself, with this call as its
   * parent. Rejects with `TOOL_NOT_FOUND` for an unknown name, and with `FORBIDDEN` beyond 8 calls in each other.
   */
  call(name: string, args: unknown, options?: InnerCallOptions): Promise<ToolResult>;
  /**
   * Has a person approve what this call is to do, which stands in `shown`, for these arguments of it and once. Rejects with `APPROVAL_NEEDED`, which
   * says how to approve it where nobody can be asked, and with `FORBIDDEN` if the person does not want it.
   */
  approve(args: unknown, shown: string, options?: ApproveOptions): Promise<void>;
  readonly results: ResultStore;
  /** Tells the audit which code of a user this call runs, and in which sandbox once it is known. The last word holds. */
  runs(code: RunCode): void;
}

export interface ApproveOptions {
  /** The caller's own client is not asked: whoever holds a token would answer for the person whose servers are used. */
  readonly atMachine?: boolean;
}

export interface InnerCallOptions {
  /** Ends the call, as the outer one's does. */
  readonly signal?: AbortSignal;
  /**
   * It is the wish of a user's code, not of Belljar's. So it asks no person, and rejects with `FORBIDDEN` for a tool that calls or finds others,
   * because what such a code calls is declared by name.
   */
  readonly isForeign?: true;
  /**
   * The code is the caller's own, which the caller gave in this very call: what it calls keeps what it knows of the client's session. Absent: a
   * foreign call has no session.
   */
  readonly keepsSession?: true;
  /** A person has approved it as part of the outer call. */
  readonly isApproved?: boolean;
}

/** A version of a user's code. */
export interface RunCode {
  /** The id of the principal whose code it is. */
  readonly owner: string;
  readonly unit: string;
  readonly version: number;
  readonly sandbox?: string;
}

/** How far a call is. `progress` grows with each report, in a unit of the tool's own; `total` is in the same unit. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** The caller's results that were cut. */
export interface ResultStore {
  /** Keeps a text that is too long to answer; answers its URI. */
  keep(text: string, options?: KeepOptions): string;
  read(id: string, range: ByteRange): KeptPart;
}

export interface KeepOptions {
  /** Others wrote the text: whoever shows a part of it marks it with `markOutside`. */
  readonly isOutside?: boolean;
}

/** In bytes of the whole text. */
export interface ByteRange {
  readonly offset?: number;
  readonly limit?: number;
}

export interface KeptPart {
  readonly text: string;
  /** Where it starts; a character that lies across the wanted offset belongs to the part before. */
  readonly offset: number;
  readonly bytes: number;
  /** Of the whole. */
  readonly total: number;
  /** Others wrote it: it is shown as `markOutside` makes it. */
  readonly isOutside?: true;
}

export type CallLogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

export interface ToolFinder {
  search(query: string, limit: number): Promise<ToolSearch>;
  /** Throws as a call of it would: `TOOL_NOT_FOUND` or `FORBIDDEN`. */
  describe(name: string): ToolDescription;
  /** The tools that code of the caller's may call, in the order of lists. */
  forCode(): readonly CodeTool[];
}

/** A tool as code sees it: all but its `run`, as every call goes through the door. */
export type CodeTool = Omit<Tool, "run">;

/** One answer of a search. */
export interface FoundTool {
  readonly name: string;
  readonly title: string;
  /** The first sentence of its description. */
  readonly summary: string;
  readonly toolset: string;
}

export interface ToolSearch {
  readonly tools: readonly FoundTool[];
  /** How many match in all. */
  readonly total: number;
}

/** A tool as callers see it. The schemas are JSON Schema 2020-12. */
export interface ToolDescription {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations: Tool["annotations"] & { readonly title: string };
}

/** The faces of one answer. Built-in tools make one with `textResult` or `dataResult`. */
export interface ToolResult {
  /** The answer as REST, code and other tools read it; of a failure its code, its message and whether the same call may succeed later. */
  readonly value: unknown;
  /** The answer as a model is shown it. */
  readonly content: readonly ToolContent[];
  /** Where the answer is data: as the tool's `output` describes it. The content is then the same as JSON. */
  readonly structured?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
  /** What another server's answer has beside, as it came. Clients of MCP alone are shown it. */
  readonly beside?: Readonly<Record<string, unknown>>;
  /** The error of the protocol with which another server refused the call. Clients of MCP get it in the place of a result. */
  readonly refusal?: Refusal;
}

export interface Refusal {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Text or pictures. Some hosts show a model the structure alone, and others both: so there is none beside. */
export interface TextResult extends ToolResult {
  readonly structured?: undefined;
}

/** Data, which is value, structure and content at once. */
export interface DataResult<Data> extends ToolResult {
  readonly value: Data;
  readonly structured: Data & Readonly<Record<string, unknown>>;
}

export type ToolContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  | { readonly type: "audio"; readonly data: string; readonly mimeType: string }
  /** Names a resource that the client may read. */
  | {
      readonly type: "resource_link";
      readonly uri: string;
      readonly name: string;
      readonly mimeType?: string;
      readonly description?: string;
    }
  | { readonly type: "resource"; readonly resource: ResourceContent };

/** The content of a resource, or of a part of one. `blob` is base64. */
export type ResourceContent = { readonly uri: string; readonly mimeType?: string } & (
  | { readonly text: string }
  | { readonly blob: string }
);

interface ZodTool<Input extends z.ZodType> extends Omit<Tool<z.output<Input>>, "input" | "output" | "value" | "run"> {
  readonly input: Input;
  /** Names that are taken beside those of `input`, and shown to nobody. */
  readonly accept?: Accept;
}

/** A tool that answers a text or pictures. */
export interface TextTool<Input extends z.ZodType> extends ZodTool<Input> {
  readonly value?: z.ZodType;
  run(context: ToolContext, args: z.output<Input>): Promise<TextResult>;
}

/** A tool that answers data: lists of records, or the ids of what it made. */
export interface DataTool<Input extends z.ZodType, Output extends z.ZodObject> extends ZodTool<Input> {
  readonly output: Output;
  run(context: ToolContext, args: z.output<Input>): Promise<DataResult<DeepReadonly<z.output<Output>>>>;
}

/** Types `args` by `input`. */
export function defineTool<Input extends z.ZodType>({ input, accept, value, ...tool }: TextTool<Input>): Tool<z.output<Input>> {
  return { ...tool, input: zodSchema(input, { accept }), ...(value && { value: zodSchema(value, { io: "output" }) }) };
}

/** Types `args` by `input`, and the answer by `output`. */
export function defineDataTool<Input extends z.ZodType, Output extends z.ZodObject>({
  input,
  accept,
  output,
  ...tool
}: DataTool<Input, Output>): Tool<z.output<Input>> {
  return { ...tool, input: zodSchema(input, { accept }), output: zodSchema(output, { io: "output" }) };
}
