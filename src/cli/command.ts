import type { Readable, Writable } from "node:stream";

/** One option of a command; help, the reference page and the parser are made from it. */
export interface OptionSpec {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** How help writes the value: `DIR`. */
  readonly value?: string;
  readonly description: string;
}

/** One command as data, so that help needs none of the commands' code. */
export interface CommandSpec {
  /** One word, or noun and verb. */
  readonly name: string;
  readonly summary: string;
  /** The positional part of its usage line: `ID -- ARGV...`. */
  readonly usage: string;
  readonly positionals: { readonly min: number; readonly max: number };
  /** Takes what stands after `--`. */
  readonly rest?: boolean;
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** What more its help says. */
  readonly details?: string;
  /** Exit code of our own failures; 1 unless named. */
  readonly failureCode?: number;
  /** The command deals with SIGINT and SIGTERM itself. */
  readonly ownSignals?: boolean;
  load(): Promise<CommandModule>;
}

export interface CommandModule {
  /** Resolves with the exit code. */
  run(call: CommandCall, context: CommandContext): Promise<number>;
}

type OptionValue = string | boolean | readonly string[] | undefined;

/** A command line that was understood. */
export interface CommandCall {
  readonly spec: CommandSpec;
  readonly positionals: readonly string[];
  readonly rest: readonly string[];
  readonly options: Readonly<Record<string, OptionValue>>;
}

/** The process around a command. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** Aborts on SIGINT, SIGTERM and SIGHUP, and when nobody reads stdout any more. */
  readonly signal: AbortSignal;
}

export function textOption(call: CommandCall, name: string): string | undefined {
  const value = call.options[name];
  return typeof value === "string" ? value : undefined;
}

export function textOptions(call: CommandCall, name: string): readonly string[] {
  const value = call.options[name];
  return Array.isArray(value) ? value : [];
}

export function isSet(call: CommandCall, name: string): boolean {
  return call.options[name] === true;
}
