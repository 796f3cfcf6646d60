/** One connection that a sandbox opened or tried to open: one line of the audit. */
export interface ConnectionRecord {
  readonly sandbox: string;
  /** The principal's id. */
  readonly owner: string;
  /** How it came: through the proxy, through SOCKS, or by a name that was resolved inside. */
  readonly via: "http" | "connect" | "socks" | "transparent" | "dns";
  /** As the program named it, cut at 255 characters. */
  readonly host: string;
  readonly port: number;
  /** What was dialled; absent when nothing was. */
  readonly address?: string;
  readonly verdict: "allowed" | "refused" | "failed";
  /** The rule that allowed it. */
  readonly rule?: string;
  /** Why it was refused or failed: a stable word as `no-rule`, `private-address`, `sni-mismatch`, `placeholder`, `too-many-connections`, `policy-changed`. */
  readonly reason?: string;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly durationMs: number;
}
