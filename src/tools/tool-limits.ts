/** The part of the configuration that tools know of. */
export interface ToolLimits {
  readonly execTimeoutMs: number;
  /** For each output stream; tools keep less where a model would read it all. */
  readonly maxOutputBytes: number;
  readonly listMax: number;
}
