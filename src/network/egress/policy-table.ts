import { allowancesOf } from "../check-policy.ts";
import type { NetworkPolicy } from "../policy.ts";
import { isBelow, toCanonicalPath } from "../request-path.ts";
import type { Allowance } from "../rules.ts";
import { Refusal } from "./refusal.ts";

/** Ports for programs without a proxy if the policy allows all ports. */
const PORTS_OF_ALL = [80, 443, 22, 8080, 8443];

export type FoundAllowance = Pick<Allowance, "rule" | "scheme" | "methods" | "path" | "isExact">;

/** A policy, indexed for fast lookups. */
export class PolicyTable {
  readonly isAll: boolean;
  readonly #exact = new Map<string, Allowance[]>();
  readonly #below = new Map<string, Allowance[]>();

  constructor(policy: NetworkPolicy) {
    this.isAll = policy === "all";
    for (const allowance of allowancesOf(policy)) {
      const map = allowance.isWildcard ? this.#below : this.#exact;
      map.set(allowance.host, [...(map.get(allowance.host) ?? []), allowance]);
    }
  }

  /** Returns the allowances for this host and port, for any protocol. */
  find(host: string, port: number): readonly FoundAllowance[] {
    if (this.isAll) return [{ rule: "all", scheme: "any", isExact: false }];
    return this.#ofHost(host).filter((allowance) => allowance.port === port);
  }

  /** Returns the ports on which a host may be reached. The list is empty if the host is not allowed. */
  ports(host: string): readonly number[] {
    if (this.isAll) return PORTS_OF_ALL;
    return [...new Set(this.#ofHost(host).map((allowance) => allowance.port))].toSorted((a, b) => a - b);
  }

  #ofHost(host: string): readonly Allowance[] {
    const parents = host.split(".").map((_label, index, labels) => labels.slice(index + 1).join("."));
    return [...(this.#exact.get(host) ?? []), ...parents.flatMap((parent) => this.#below.get(parent) ?? [])];
  }
}

export function isConditional(allowance: FoundAllowance): boolean {
  return allowance.methods !== undefined || allowance.path !== undefined;
}

export function forScheme(allowances: readonly FoundAllowance[], scheme: "http" | "https"): readonly FoundAllowance[] {
  return allowances.filter((allowance) => allowance.scheme === "any" || allowance.scheme === scheme);
}

export interface RequestLine {
  readonly method: string;
  /** Path with the query. */
  readonly path: string;
}

/** Returns the allowance for a request, and the judged path, which must be sent. Returns undefined if no allowance fits. */
export function judgeRequest(
  allowances: readonly FoundAllowance[],
  { method, path }: RequestLine,
): { readonly allowance: FoundAllowance; readonly path: string } | Refusal | undefined {
  const free = allowances.find((allowance) => !isConditional(allowance));
  if (free) return { allowance: free, path };
  const query = path.includes("?") ? path.slice(path.indexOf("?")) : "";
  const canonical = toCanonicalPath(query === "" ? path : path.slice(0, -query.length));
  if (canonical === undefined)
    return new Refusal("ambiguous-path", "Servers may read this path in different ways, so no rule can judge it.");
  const allowance = allowances.find(
    (row) => (row.methods?.includes(method) ?? true) && (row.path === undefined || isBelow(canonical, row.path)),
  );
  return allowance && { allowance, path: `${canonical}${query}` };
}
