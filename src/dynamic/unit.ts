import type { PackageLock } from "../packages/package-lock.ts";
import type { CreateOptions } from "../sandbox/sandbox.ts";

export const TOOL_LANGUAGES = ["python", "javascript", "typescript", "shell"] as const;

export type ToolLanguage = (typeof TOOL_LANGUAGES)[number];

/** What an author wrote: one unit of code, which holds one or several tools, with all that it needs. */
export interface UnitSpec {
  readonly language: ToolLanguage;
  readonly code: string;
  /** Packages, beside those that the code names itself. */
  readonly requirements?: readonly string[];
  /** Packages may run code of theirs when they are installed. Absent: those that need to are refused. */
  readonly sdist?: boolean;
  /** Of the sandboxes that its calls run in. Absent: `none`. */
  readonly network?: NonNullable<CreateOptions["network"]>;
  /** As for a sandbox: variables that hold placeholders for secrets of the owner. */
  readonly secrets?: NonNullable<CreateOptions["secrets"]>;
  readonly limits?: NonNullable<CreateOptions["limits"]>;
  /** Names of tools that the code may call, with its caller's rights. Absent: none. */
  readonly calls?: readonly string[];
  /** `call`: each call has a fresh sandbox; `session`: one for each caller, client and version. Absent: `call`. */
  readonly reuse?: "call" | "session";
  /** Of one call, in milliseconds. Absent: as the configuration says. */
  readonly timeoutMs?: number;
  /** Run before a version goes live. One that fails blocks it. */
  readonly tests?: readonly ToolTest[];
}

export interface ToolTest {
  /** Absent: the unit's only tool. */
  readonly tool?: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly expect: ToolExpectation;
}

/** What an answer must be. A part that is absent is not looked at; without `error` the call must succeed. */
export interface ToolExpectation {
  /** The whole text of the answer. */
  readonly text?: string;
  readonly structured?: unknown;
  /** A part of the error's text. */
  readonly error?: string;
}

/** A JSON Schema 2020-12 of an object, as the code's own language reads it from the code. */
export type ReadSchema = Readonly<Record<string, unknown>>;

/** One tool of a unit, as it was read from the code inside a sandbox. */
export interface ReadTool {
  /** As callers see it: `[A-Za-z0-9_-]{1,40}`. */
  readonly name: string;
  /** As the code calls it. */
  readonly function: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: ReadSchema;
  /** Of an answer that is data. */
  readonly outputSchema?: ReadSchema;
  readonly annotations?: Readonly<Partial<Record<"readOnlyHint" | "destructiveHint" | "idempotentHint" | "openWorldHint", boolean>>>;
}

/** One version of a unit. It never changes. */
export interface UnitVersion {
  /** From 1, without gaps. */
  readonly number: number;
  readonly spec: UnitSpec;
  readonly tools: readonly ReadTool[];
  /** Absent: it has no packages. */
  readonly lock?: PackageLock;
  readonly createdAt: Date;
}

/** What changes of a unit. The versions themselves lie beside it. */
export interface UnitHead {
  /** The principal's id. */
  readonly owner: string;
  /** Unique among the owner's units. */
  readonly name: string;
  /** Counts the changes of the head, from 1. */
  readonly revision: number;
  /** Those that are there, oldest first. */
  readonly versions: readonly VersionHead[];
  /** The version that callers have. */
  readonly live?: number;
  /** Callers do not have it, though a version is live. */
  readonly isDisabled: boolean;
  /** Every principal has its tools. */
  readonly isShared: boolean;
}

export interface VersionHead {
  readonly number: number;
  readonly createdAt: Date;
  /** Its tests have passed, or it has none and was published. */
  readonly isTested: boolean;
  /** Callers have had it. */
  readonly wasLive?: boolean | undefined;
  /** Of its lock. */
  readonly packages?: Pick<PackageLock, "wish" | "key">;
}
