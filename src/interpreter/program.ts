import type { Readable } from "node:stream";
import type { CreateOptions, Sandbox } from "../sandbox/sandbox.ts";

export type Limits = NonNullable<CreateOptions["limits"]>;

/** A program that runs once, from its files to its end. */
export interface Program {
  /** A name or alias of the table of languages. */
  readonly language: string;
  readonly code: string;
  /** Relative to the program's folder; the language has a default. */
  readonly entryFile?: string;
  readonly files?: readonly ProgramFile[];
  readonly args?: readonly string[];
  /** A stream is read while the program runs, and then `onOutput` may hold the output up. */
  readonly stdin?: string | Uint8Array | Readable;
  readonly env?: Readonly<Record<string, string>>;
}

export interface ProgramFile {
  readonly name: string;
  readonly content: string | Uint8Array;
}

export interface RunProgramOptions {
  /** Aborting kills the program and, if it is fresh, its sandbox. */
  readonly signal: AbortSignal;
  /** Limits of the fresh sandbox that the caller names; each must be enforceable. */
  readonly limits?: Limits;
  /** For compiling and running together. */
  readonly timeoutMs?: number;
  /** For each of stdout and stderr: the first half and the last half of more are kept. */
  readonly maxOutputBytes?: number;
  /** Runs in this sandbox, in a folder of its own that is removed at the end. Absent: in a fresh sandbox that is killed at the end. */
  readonly sandbox?: Sandbox;
  /** Sees each chunk of the program as it comes, before the bound; of a compiler only when it failed. */
  readonly onOutput?: (stream: "stdout" | "stderr", chunk: Buffer) => unknown;
}

export interface ProgramResult {
  /** `error`: a non-zero exit, a signal, or a failed compilation. */
  readonly status: "success" | "error" | "timeout";
  /** Valid UTF-8; what was not is replaced. A cut is marked on a line of its own. */
  readonly stdout: string;
  readonly stderr: string;
  /** Undefined when a signal ended it. */
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** Compiling and running, without the sandbox's making. */
  readonly durationMs: number;
  readonly truncated: boolean;
  readonly outOfMemory: boolean;
  /** The last phase that ran. */
  readonly phase: "compile" | "run";
}
