import type { Readable } from "node:stream";
import type { CreateOptions, Sandbox } from "../sandbox/sandbox.ts";
import type { OutputWindows } from "./output-window.ts";

export type Limits = NonNullable<CreateOptions["limits"]>;

/** A program that runs once, to its end. */
export interface Program {
  /** A name or alias of the table of languages. */
  readonly language: string;
  readonly code: string;
  /** Path below the program's folder. Default: the language's entry file. */
  readonly entryFile?: string;
  readonly files?: readonly ProgramFile[];
  readonly args?: readonly string[];
  /** If it is a stream, it is read while the program runs, and `onOutput` may return a promise that delays the output. */
  readonly stdin?: string | Uint8Array | Readable;
  readonly env?: Readonly<Record<string, string>>;
}

export interface ProgramFile {
  readonly name: string;
  readonly content: string | Uint8Array;
}

export interface RunProgramOptions {
  /** Aborting kills the program, and its sandbox if that is fresh. */
  readonly signal: AbortSignal;
  /** Limits of the fresh sandbox. A limit that cannot be enforced is an error. */
  readonly limits?: Limits;
  /** Maximum time of compiling and running together. */
  readonly timeoutMs?: number;
  /** Maximum size of stdout and of stderr. Of a longer output, the beginning and the end are kept. */
  readonly maxOutputBytes?: number;
  /** Sandbox to run in, in a new folder that is removed at the end. Without it, a fresh sandbox is used and killed at the end. */
  readonly sandbox?: Sandbox;
  /** Runs it in a folder of `sandbox` that is there already. */
  readonly place?: ProgramPlace;
  /** Brings back the files that the program leaves in its folder, which is removed. Default false: `ProgramResult.left` is empty. */
  readonly bringFiles?: boolean;
  /** Tells what the network of a fresh sandbox refuses. Default false: `ProgramResult.refused` is empty. */
  readonly tellsRefusals?: boolean;
  /** Called with each chunk of output as it comes, even beyond `maxOutputBytes`. A compiler's output comes only if the compiler failed. */
  readonly onOutput?: (stream: "stdout" | "stderr", chunk: Buffer) => unknown;
}

export interface ProgramPlace {
  /** Where the program runs. Nothing is removed from it, and compilers leave nothing there. */
  readonly folder: string;
  /** Whether the entry lies in the folder, under its name. Then it is not written, and it finds its neighbours. */
  readonly hasEntry: boolean;
}

export interface ProgramResult {
  /** `error`: a non-zero exit, a signal, or a failed compilation. */
  readonly status: "success" | "error" | "timeout";
  /** Valid UTF-8; invalid bytes are replaced. A cut is marked on a line of its own. */
  readonly stdout: string;
  readonly stderr: string;
  /** The same two streams, for a caller that shows only a part of them. */
  readonly windows: OutputWindows;
  /** Undefined if a signal ended the program. */
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  /** Time of compiling and running, without the creation of the sandbox. */
  readonly durationMs: number;
  readonly truncated: boolean;
  /** The program failed, and one of its processes was killed because the sandbox's memory was used up. */
  readonly outOfMemory: boolean;
  /** The program failed, and its sandbox could write nothing more. */
  readonly diskFull: boolean;
  readonly left: LeftFiles;
  /** What the network of a fresh sandbox refused, in a few lines. */
  readonly refused: readonly string[];
  /** The last phase that ran. */
  readonly phase: "compile" | "run";
}

/** A file that a program made or changed in its folder. */
export interface LeftFile {
  /** Relative to the program's folder. Any text: the program chose it. */
  readonly name: string;
  readonly size: number;
  /** Undefined if the file is too large, or could not be read. */
  readonly content?: Buffer;
}

export interface LeftFiles {
  /** In the order of their names. */
  readonly files: readonly LeftFile[];
  /** How many more there were. */
  readonly more: number;
}
