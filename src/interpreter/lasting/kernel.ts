/** One run, as it is asked of a kernel. */
export interface KernelRequest {
  /** Of 32 hex digits, new for each run. */
  readonly token: string;
  readonly code: string;
  /** Set for this run alone. */
  readonly env: Readonly<Record<string, string>>;
  /** Further forms of values, where the kernel has them. */
  readonly forms?: "e2b" | undefined;
}

/** What a kernel does before its first run, or between two, without a word of it in any run. */
export interface Preparation {
  /** Of 32 hex digits. */
  readonly token: string;
  /** Modules, where it has them. */
  readonly imports: readonly string[];
  /** Set from now on. */
  readonly env: Readonly<Record<string, string>>;
}

/** How contexts of one language are started and asked. */
export interface Kernel {
  readonly language: string;
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** How often code is interrupted before it counts as stuck. Default 1: a second time would hit what the code does about the first. */
  readonly interrupts?: number;
  /** Bytes for its channel before the first run. */
  readonly opening?: string;
  /** Bytes for its channel. Whatever an earlier stream left half-written there, they are read as one run. */
  readonly ask: (request: KernelRequest) => string;
  /** The same for a preparation, to which it answers `prepared`. Absent: it knows none. */
  readonly prepare?: (request: Preparation) => string;
  /** Names of variables that only count when it starts. Absent: all. */
  readonly readAtStart?: RegExp;
}
