import type { Readable, Writable } from "node:stream";
import type { ErrorCode } from "../errors.ts";

/** One option of a command. Help, the reference page and the parser derive from it. */
export interface OptionSpec {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** The value's name in help, such as `DIR`. */
  readonly value?: string;
  /** Of a text: what `--name` alone means. Another value is written `--name=VALUE`. */
  readonly bare?: string;
  readonly description: string;
}

/** One command as data, so that help needs no code of the commands. */
export interface CommandSpec {
  /** One word, or noun and verb. */
  readonly name: string;
  /** Other names that it is called by. */
  readonly synonyms?: readonly string[];
  readonly summary: string;
  /** The positional part of its usage line: `ID -- ARGV...`. */
  readonly usage: string;
  readonly positionals: { readonly min: number; readonly max: number };
  /** What its first argument may be, for completions. */
  readonly choices?: readonly string[];
  /** True if the arguments after `--` are a command line that is being typed. */
  readonly completes?: boolean;
  /** True if the command takes command lines while it runs. */
  readonly takesLines?: boolean;
  /** True if the command takes arguments after `--`. */
  readonly rest?: boolean;
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** Additional text for its help. */
  readonly details?: string;
  /** Exit code of Belljar's own failures. Default: 1. */
  readonly failureCode?: number;
  /** Exit codes of single errors. A usage error is 2, whatever stands here. */
  readonly exitCodes?: Readonly<Partial<Record<ErrorCode, number>>>;
  /** True if the command handles SIGINT, SIGTERM and SIGHUP itself. */
  readonly ownSignals?: boolean;
  load(): Promise<CommandModule>;
}

export interface CommandModule {
  /** Resolves with the exit code. */
  run(call: CommandCall, context: CommandContext): Promise<number>;
}

export interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** What may stand at the end of a command line. `more` is what only the shell or the home knows. */
export interface Completion {
  readonly candidates: readonly Candidate[];
  readonly more?: "files" | "sandboxes" | "tools" | "tokens";
}

type OptionValue = string | boolean | readonly string[] | undefined;

/** A parsed command line. */
export interface CommandCall {
  readonly spec: CommandSpec;
  readonly positionals: readonly string[];
  readonly rest: readonly string[];
  readonly options: Readonly<Record<string, OptionValue>>;
  /** For a command that `completes`. */
  readonly completion?: Completion;
  /** For a command that `takesLines`. Gives undefined for a line that asks for help. Throws `USAGE`. */
  readonly parse?: (argv: readonly string[]) => CommandCall | undefined;
}

/** The command's process: its environment, its streams and its signal. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** Aborts on SIGINT, SIGTERM and SIGHUP, and when the reader of stdout is gone. */
  readonly signal: AbortSignal;
  /** Until it is disposed, Ctrl+C is another program's on the same terminal, and ends nothing here. */
  holdInterrupts(this: void): Disposable;
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
