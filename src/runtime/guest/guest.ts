import type { Duplex, Readable, Writable } from "node:stream";

/**
 * One sandbox's guest, spoken to over streams that `connect` opens. Written once, for all runtimes.
 * Every method rejects with a `BelljarError`; when the sandbox has ended, `SANDBOX_ENDED` with the reason in its message.
 */
export interface Guest {
  readonly files: GuestFiles;
  /** Resolves once the command runs. Rejects with `COMMAND_NOT_FOUND`, `COMMAND_NOT_EXECUTABLE`, `USER_UNKNOWN`, `FILE_NOT_FOUND` (cwd). */
  exec(options: ExecOptions): Promise<ExecProcess>;
  /** Runs to the end and collects at most `maxOutputBytes` of each stream; more is read and dropped, and `truncated` set. */
  run(options: RunOptions): Promise<RunResult>;
  /** A TCP connection to 127.0.0.1:`port` inside, or to [::1]:`port` when nobody listens there. Rejects with `PORT_REFUSED`. */
  dial(port: number, signal: AbortSignal): Promise<Duplex>;
  /** Connections that processes inside open to `/run/belljar/<service>.sock`, until the signal aborts. Keeps `waiting` streams ready. */
  accept(service: string, options: { readonly signal: AbortSignal; readonly waiting?: number }): AsyncIterable<AcceptedConnection>;
  /**
   * Listens on TCP addresses inside, for connections of its programs: at most 64 a listener, hundreds of listeners a guest. Resolves
   * once it is in line behind the listeners of other processes that want one of them. `waiting` streams are kept ready, shared with
   * this guest's other listeners.
   */
  listen(addresses: readonly SocketAddress[], options: { readonly signal: AbortSignal; readonly waiting?: number }): Promise<GuestListener>;
  processes(signal: AbortSignal): Promise<readonly ProcessInfo[]>;
  signalProcess(pid: number, signalNumber: number, options: { readonly group?: boolean; readonly signal: AbortSignal }): Promise<void>;
  usage(signal: AbortSignal): Promise<GuestUsage>;
  ping(signal: AbortSignal): Promise<void>;
  /** SIGTERM to all, SIGKILL after the grace; the sandbox ends. */
  shutdown(graceMs: number, signal: AbortSignal): Promise<void>;
}

export interface ExecOptions {
  readonly argv: readonly string[];
  /** Relative paths start at the user's home, which is also the default. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly timeoutMs?: number;
  /** Duplex channels beside stdio: fd 3 and up inside. */
  readonly channels?: number;
  readonly terminal?: { readonly rows: number; readonly cols: number };
  /** False: stdin is /dev/null. Default true: `stdin` must be ended by the caller for programs that read to the end. */
  readonly stdin?: boolean;
  /** Aborting kills the command's process group. */
  readonly signal: AbortSignal;
}

export interface ExecProcess extends AsyncDisposable {
  readonly pid: number;
  readonly stdin: Writable;
  /** With a terminal, what it shows. Must be read or resumed: back-pressure reaches the program. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Index 0 is fd 3 inside. */
  readonly channels: readonly Duplex[];
  kill(signalNumber?: number): void;
  resize(rows: number, cols: number): void;
  /** Settles once the command has ended and all its output was taken. Rejects when the exec was cut short: the sandbox ended, or the signal aborted. */
  readonly exited: Promise<ExecExit>;
}

export interface ExecExit {
  /** Undefined when a signal ended it. */
  readonly exitCode: number | undefined;
  /** Its name, as `SIGKILL`. A shell would say 128 + number. */
  readonly signal: string | undefined;
  readonly timedOut: boolean;
  readonly outOfMemory: boolean;
  readonly durationMs: number;
  readonly cpuMs: number;
  readonly memoryPeakBytes: number;
}

export interface RunOptions extends Omit<ExecOptions, "stdin" | "terminal" | "channels"> {
  readonly input?: string | Uint8Array;
  /** For each of stdout and stderr; default 1 MiB. */
  readonly maxOutputBytes?: number;
  /** Sees each chunk as it comes, before the bound. */
  readonly onOutput?: (stream: "stdout" | "stderr", chunk: Buffer) => void;
}

export interface RunResult extends ExecExit {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly truncated: boolean;
}

/** Paths are absolute, or relative to the user's home. A `Buffer` names a path that is not UTF-8. */
export type GuestPath = string | Buffer;
export interface FileCall {
  readonly user?: string;
  readonly signal: AbortSignal;
}

export interface GuestFiles {
  /** A link describes itself, with `target` and `resolved`; with `follow`, what it leads to. */
  stat(path: GuestPath, options: FileCall & { readonly follow?: boolean }): Promise<FileInfo>;
  /** Rows come as the guest finds them: bounded memory for any folder. `depth` 1 is the folder itself. */
  list(path: GuestPath, options: FileCall & { readonly depth?: number }): AsyncIterable<FileInfo>;
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
  /** Resolves once it watches, so that no later change is missed. Ends when the signal aborts. */
  watch(path: GuestPath, options: FileCall & { readonly recursive?: boolean }): Promise<AsyncIterable<FileChange>>;
}

export interface FileRange {
  readonly offset?: number;
  readonly limit?: number;
}

export interface WriteFileOptions extends FileCall {
  readonly mode?: number;
  /** Write beside and rename: readers see the old file or the new one. Default true, unless `append` or `offset` is given. */
  readonly atomic?: boolean;
  readonly append?: boolean;
  readonly exclusive?: boolean;
  /** Make missing folders above. Default true. */
  readonly parents?: boolean;
  readonly offset?: number;
}

export interface FileInfo {
  /** As it was asked for; from `list`, relative to the listed folder. UTF-8 with invalid bytes replaced; `rawPath` is exact. */
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
  /** A link's text. */
  readonly target?: string;
  /** Where a link ends, if it does. */
  readonly resolved?: string;
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

/** Ends when its signal aborts, when its loop is left, or when the sandbox ends; connections that were taken live on. */
export interface GuestListener {
  /**
   * Settles once this listener holds its addresses; at once unless another process holds them. Rejects when it ends before: with
   * `PORT_TAKEN` when a program inside holds one.
   */
  readonly held: Promise<void>;
  /** For one loop. Ends quietly with the signal or the sandbox, and throws what else ended it. Nobody's beyond 256 are closed. */
  readonly connections: AsyncIterable<ListenedConnection>;
}

export interface ListenedConnection {
  /**
   * Destroying it before its `end()` resets the program's connection. When the program breaks it off, it fails with
   * `NETWORK_FAILED`, which may have happened before its taker looks: `finished(stream)` tells in either case.
   */
  readonly stream: Duplex;
  /** Where the program connected to. */
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
  readonly uptimeMs: number;
}
