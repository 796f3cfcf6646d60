import type { Duplex, Readable, Writable } from "node:stream";

/**
 * The guest of one sandbox, over streams that `connect` opens. All runtimes share one implementation.
 * Every method rejects with a `BelljarError`. Once the sandbox has ended, its code is `SANDBOX_ENDED`, and its message names the reason.
 */
export interface Guest {
  readonly files: GuestFiles;
  /** Resolves once it runs. Rejects with `COMMAND_NOT_FOUND`, `COMMAND_NOT_EXECUTABLE`, `USER_UNKNOWN`, or `FILE_NOT_FOUND` for `cwd`. */
  exec(options: ExecOptions): Promise<ExecProcess>;
  /** Runs a command to its end, and collects at most `maxOutputBytes` of each stream. More is read and dropped, and sets `truncated`. */
  run(options: RunOptions): Promise<RunResult>;
  /**
   * Starts a command that outlives its stream: `attach` takes it up again. The name is 1 to 32 characters of a-z, 0-9 and `-`. Rejects as
   * `exec` does, with `FILE_EXISTS` if the name is taken, with `PROCESS_LIMIT` if 64 are kept.
   */
  keep(name: string, options: KeepOptions): Promise<KeptProcess>;
  /**
   * Takes up the kept command of that name. While another stream has it, this one waits in line. What the command wrote to stdout and
   * stderr without a stream was dropped; on its channels nothing is lost that the stream before had not received. A command that has ended
   * is given up with its exit. Rejects with `PROCESS_NOT_FOUND`.
   */
  attach(name: string, signal: AbortSignal): Promise<KeptProcess>;
  /** The kept commands. One that has ended stays until its exit is taken, or until there are 64. */
  listKept(signal: AbortSignal): Promise<readonly KeptInfo[]>;
  /** What was noted of a kept command, also of one that has ended. Rejects with `PROCESS_NOT_FOUND`. */
  describeKept(name: string, signal: AbortSignal): Promise<KeptDescription>;
  /** Opens a TCP connection to 127.0.0.1:`port` inside, or to [::1]:`port` if nothing listens there. Rejects with `PORT_REFUSED`. */
  dial(port: number, signal: AbortSignal): Promise<Duplex>;
  /** Yields connections of processes inside to `/run/belljar/<service>.sock`, until the signal aborts. Keeps `waiting` streams ready. */
  accept(service: string, options: { readonly signal: AbortSignal; readonly waiting?: number }): AsyncIterable<AcceptedConnection>;
  /**
   * Listens on TCP addresses inside, for connections of programs inside. A listener has at most 64 addresses, a guest hundreds of
   * listeners. If another Belljar process listens on one of the addresses, this listener waits in line. Resolves once it has its place
   * in the line. All listeners of this object share the `waiting` streams that are kept ready.
   */
  listen(addresses: readonly SocketAddress[], options: { readonly signal: AbortSignal; readonly waiting?: number }): Promise<GuestListener>;
  processes(signal: AbortSignal): Promise<readonly ProcessInfo[]>;
  signalProcess(pid: number, signalNumber: number, options: { readonly group?: boolean; readonly signal: AbortSignal }): Promise<void>;
  usage(signal: AbortSignal): Promise<GuestUsage>;
  ping(signal: AbortSignal): Promise<void>;
  /**
   * Stops every process inside, whoever's it is, and resolves once all of them stand. Nothing new starts meanwhile: other calls wait until the
   * end, and what is sent to programs that run waits too. It ends with `end`, `signal`, this process, or after 120 seconds. Processes that
   * somebody inside had stopped stay stopped. Of two at once the second waits for the first. Rejects with `SANDBOX_UNRESPONSIVE` if they do
   * not stand within seconds, with `SANDBOX_PAUSED` (then they stand already), or with `NOT_SUPPORTED`; then nothing has changed.
   */
  still(signal: AbortSignal): Promise<Still>;
  /** Sends SIGTERM to all processes, and SIGKILL after `graceMs`. Then the sandbox ends. */
  shutdown(graceMs: number, signal: AbortSignal): Promise<void>;
}

/** A sandbox that stands still. Disposing it lets everything go on. */
export interface Still extends AsyncDisposable {
  /** When everything stood, as `performance.now()`. */
  readonly since: number;
  /**
   * Lets everything go on, and resolves to the milliseconds for which it stood. Rejects with `SANDBOX_UNRESPONSIVE`, `SANDBOX_ENDED` or
   * `CANCELLED` if it went on earlier: what was read meanwhile is of no one moment.
   */
  end(): Promise<number>;
}

export interface ExecOptions {
  readonly argv: readonly string[];
  /** Relative paths start at the workspace, or else the user's home, which is also the default. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly timeoutMs?: number;
  /** Number of duplex channels besides stdio. Inside they are fd 3 and up. */
  readonly channels?: number;
  readonly terminal?: { readonly rows: number; readonly cols: number };
  /** If false, stdin is /dev/null. If true (default), the caller must end `stdin` for programs that read it to its end. */
  readonly stdin?: boolean;
  /** Aborting kills the command's process group. */
  readonly signal: AbortSignal;
}

export interface ExecProcess extends AsyncDisposable {
  readonly pid: number;
  readonly stdin: Writable;
  /** With a terminal, the terminal's output. It must be read or resumed, for back-pressure stops the program. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Index 0 is fd 3 inside. */
  readonly channels: readonly Duplex[];
  kill(signalNumber?: number): void;
  resize(rows: number, cols: number): void;
  /** Resolves once the command has ended and all its output was taken. Rejects if the sandbox ends or the signal aborts first. */
  readonly exited: Promise<ExecExit>;
}

/** Aborting loses the stream. `stdin` is false by default; it, a terminal and a timeout are for a command that `stays`. */
export interface KeepOptions extends ExecOptions {
  /** It is not interrupted when a stream is lost. Nothing that was written to its stdin or its terminal is lost with a stream. */
  readonly stays?: boolean;
  /** At most 8 KiB, for `describeKept`. */
  readonly note?: string;
}

/**
 * A command that outlives its stream. When the stream ends without `detach`, the command is interrupted (SIGINT) unless it `stays`, and
 * goes on.
 */
export interface KeptProcess extends ExecProcess {
  /** The stream before this one was lost. The command was interrupted, and may not have stopped yet. */
  readonly wasCut: boolean;
  /** Leaves the command as it is. The streams end; the next `attach` has it. */
  detach(): void;
}

export interface KeptInfo {
  readonly name: string;
  /** Undefined: it has ended. */
  readonly pid: number | undefined;
}

export interface KeptDescription {
  /** The pid that it has or had. */
  readonly pid: number;
  /** Empty if nothing was noted. */
  readonly note: string;
}

export interface ExecExit {
  /** Undefined if a signal ended the command. */
  readonly exitCode: number | undefined;
  /** Name of that signal, such as `SIGKILL`. A shell would report 128 + its number. */
  readonly signal: string | undefined;
  readonly timedOut: boolean;
  readonly durationMs: number;
  readonly cpuMs: number;
  readonly memoryPeakBytes: number;
}

export interface RunOptions extends Omit<ExecOptions, "stdin" | "terminal" | "channels"> {
  readonly input?: string | Uint8Array;
  /** For each of stdout and stderr; default 1 MiB. */
  readonly maxOutputBytes?: number;
  /** Called with each chunk as it comes, even beyond `maxOutputBytes`. If it returns a promise, the program may have to wait for that. */
  readonly onOutput?: (stream: "stdout" | "stderr", chunk: Buffer) => unknown;
  /** Called once the command runs. */
  readonly onStarted?: (pid: number) => void;
}

export interface RunResult extends ExecExit {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly truncated: boolean;
}

/** Paths are absolute, or relative to the workspace, or else the user's home. A `Buffer` names a path that is not UTF-8. */
export type GuestPath = string | Buffer;
export interface FileCall {
  readonly user?: string;
  readonly signal: AbortSignal;
}

export interface TellAttributes {
  /** Tells of files and folders the extended attributes whose names begin so, those of an entry up to 16 KiB together. */
  readonly attributes?: string;
}

export interface ListDepth {
  /** With 1 (default) no subfolder is entered. At most `LIST_LEVELS_MAX`, and never a folder whose path is longer than `LIST_PATH_MAX`. */
  readonly depth?: number;
  /** Names of subfolders that are not entered: they alone are listed. */
  readonly closed?: readonly string[];
}

export interface GuestFiles {
  /** Describes a symbolic link itself, with `target` and `resolved`. With `follow` it describes the link's destination. */
  stat(path: GuestPath, options: FileCall & TellAttributes & { readonly follow?: boolean }): Promise<FileInfo>;
  /** Yields entries as the guest finds them, in bounded memory for any folder. */
  list(path: GuestPath, options: FileCall & TellAttributes & ListDepth): AsyncIterable<FileInfo>;
  /** The stream must be read or destroyed. */
  open(path: GuestPath, options: FileCall & FileRange): Promise<{ readonly info: FileInfo; readonly content: Readable }>;
  /** Rejects with `FILE_TOO_LARGE` past `maxBytes` (default 16 MiB). */
  read(path: GuestPath, options: FileCall & FileRange & { readonly maxBytes?: number }): Promise<Buffer>;
  write(path: GuestPath, content: string | Uint8Array | Readable, options: WriteFileOptions): Promise<{ readonly size: number }>;
  makeDirectory(path: GuestPath, options: FileCall & { readonly mode?: number; readonly parents?: boolean }): Promise<void>;
  rename(path: GuestPath, target: GuestPath, options: FileCall & { readonly replace?: boolean }): Promise<void>;
  remove(path: GuestPath, options: FileCall & { readonly recursive?: boolean }): Promise<void>;
  copy(path: GuestPath, target: GuestPath, options: FileCall & { readonly recursive?: boolean }): Promise<void>;
  symlink(path: GuestPath, target: GuestPath, options: FileCall): Promise<void>;
  setAttributes(path: GuestPath, options: FileCall & { readonly mode?: number; readonly mtime?: Date }): Promise<void>;
  getXattr(path: GuestPath, name: string, options: FileCall): Promise<Buffer>;
  setXattr(path: GuestPath, name: string, value: Uint8Array, options: FileCall): Promise<void>;
  listXattrs(path: GuestPath, options: FileCall): Promise<readonly string[]>;
  removeXattr(path: GuestPath, name: string, options: FileCall): Promise<void>;
  /** Resolves once the guest watches, so that no later change is missed. Ends when the signal aborts. */
  watch(path: GuestPath, options: FileCall & { readonly recursive?: boolean }): Promise<AsyncIterable<FileChange>>;
}

export interface FileRange {
  readonly offset?: number;
  readonly limit?: number;
}

export interface WriteFileOptions extends FileCall {
  readonly mode?: number;
  /** Write a new file and rename it: readers see the old file or the new one. Default true, unless `append` or `offset` is given. */
  readonly atomic?: boolean;
  readonly append?: boolean;
  readonly exclusive?: boolean;
  /** Create missing parent folders. Default true. */
  readonly parents?: boolean;
  readonly offset?: number;
  /** Of an atomic write: blocks of zeros become holes. */
  readonly sparse?: boolean;
}

export interface FileInfo {
  /** The requested path. From `list`: relative to the listed folder. Invalid UTF-8 is replaced; `rawPath` is exact. */
  readonly path: string;
  readonly rawPath: Buffer;
  readonly type: "file" | "directory" | "link" | "other";
  readonly size: number;
  /** Permission bits. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly owner: string;
  readonly group: string;
  readonly mtimeNs: bigint;
  readonly inode: bigint;
  readonly links: number;
  /** The text of a symbolic link. */
  readonly target?: string;
  /** The path of the link's destination, if it exists, and what that is. */
  readonly resolved?: string;
  readonly resolvedType?: Exclude<FileInfo["type"], "link">;
  readonly resolvedMode?: number;
  /** By the whole name. Absent unless they were asked for. */
  readonly attributes?: ReadonlyMap<string, Buffer>;
}

export interface FileChange {
  readonly kind: "create" | "write" | "remove" | "rename" | "attributes" | "overflow";
  /** Relative to the watched path. */
  readonly path: string;
  /** The new name, for a rename within the watched tree. */
  readonly target?: string;
}

export interface AcceptedConnection {
  readonly stream: Duplex;
  readonly uid: number;
  readonly pid: number;
}

/** An IPv4 address of the sandbox itself (127.0.0.0/8, 198.18.0.0/15) and a port. */
export interface SocketAddress {
  readonly address: string;
  readonly port: number;
}

/** Ends when its signal aborts, when its loop is left, or when the sandbox ends. The first two leave taken connections open. */
export interface GuestListener {
  /**
   * Resolves once this listener holds its addresses: at once, unless another Belljar process holds them. Rejects if the listener ends
   * first, with `PORT_TAKEN` if a program inside listens on one of the addresses.
   */
  readonly held: Promise<void>;
  /** For one loop. Ends without an error with the signal or the sandbox, and throws any other error. Keeps 256 untaken connections. */
  readonly connections: AsyncIterable<ListenedConnection>;
}

export interface ListenedConnection {
  /**
   * Destroying the stream before its `end()` resets the program's connection. If the program resets the connection, the stream fails with
   * `NETWORK_FAILED`. This may happen before the taker adds a listener; `finished(stream)` reports it in either case.
   */
  readonly stream: Duplex;
  /** The address that the program connected to. */
  readonly local: SocketAddress;
}

export interface ProcessInfo {
  readonly pid: number;
  readonly ppid: number;
  readonly pgid: number;
  readonly sid: number;
  readonly uid: number;
  readonly memoryBytes: number;
  readonly cpuUs: number;
  readonly startedAt: Date;
  readonly argv: readonly string[];
}

export interface GuestUsage {
  readonly processes: number;
  readonly memoryBytes: number;
  readonly diskUsedBytes: number;
  readonly diskTotalBytes: number;
  /** The sandbox can write nothing more, even where a quota below the file system says so. */
  readonly isDiskFull: boolean;
  readonly uptimeMs: number;
}
