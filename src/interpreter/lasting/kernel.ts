/** One run, as it is asked of a kernel. */
export interface KernelRequest {
  /** Of 32 hex digits, new for each run. */
  readonly token: string;
  readonly code: string;
  /** Set for this run alone. */
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
}
