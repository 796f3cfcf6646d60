/** One connection that a sandbox opened or tried to open. It becomes one line of the audit. */
export interface ConnectionRecord {
  readonly sandbox: string;
  /** The principal's id. */
  readonly owner: string;
  /** The way in use: the HTTP proxy, a CONNECT tunnel, SOCKS, an address that stands for a name (`transparent`), or a DNS query. */
  readonly via: "http" | "connect" | "socks" | "transparent" | "dns";
  /** The name that the program used, cut at 255 characters. */
  readonly host: string;
  readonly port: number;
  /** The address that was dialled. Absent if none was. */
  readonly address?: string;
  readonly verdict: "allowed" | "refused" | "failed";
  /** The rule that allowed it. */
  readonly rule?: string;
  /** Why it was refused or failed: a stable word such as `no-rule`, `private-address`, `sni-mismatch` or `policy-changed`. */
  readonly reason?: string;
  /** The rule that would have allowed it, if one can. */
  readonly missingRule?: string;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly durationMs: number;
}
