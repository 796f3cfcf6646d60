import { grantsOf } from "../check-policy.ts";
import type { NetworkPolicy } from "../policy.ts";
import { isBelow, toCanonicalPath } from "../request-path.ts";
import type { Grant } from "../rules.ts";
import { Refusal } from "./refusal.ts";

/** Where programs that know no proxy may connect to when every port is allowed. */
const PORTS_OF_ALL = [80, 443, 22, 8080, 8443];

export type FoundGrant = Pick<Grant, "rule" | "scheme" | "methods" | "path" | "isExact">;

/** A policy made ready for many questions. */
export class PolicyTable {
  readonly isAll: boolean;
  readonly #exact = new Map<string, Grant[]>();
  readonly #below = new Map<string, Grant[]>();

  constructor(policy: NetworkPolicy) {
    this.isAll = policy === "all";
    for (const grant of grantsOf(policy)) {
      const map = grant.isWildcard ? this.#below : this.#exact;
      map.set(grant.host, [...(map.get(grant.host) ?? []), grant]);
    }
  }

  /** What allows this host and port, whatever is spoken there. */
  find(host: string, port: number): readonly FoundGrant[] {
    if (this.isAll) return [{ rule: "all", scheme: "any", isExact: false }];
    return this.#ofHost(host).filter((grant) => grant.port === port);
  }

  /** The ports on which a host may be reached; none when it is not allowed. */
  ports(host: string): readonly number[] {
    if (this.isAll) return PORTS_OF_ALL;
    return [...new Set(this.#ofHost(host).map((grant) => grant.port))].toSorted((a, b) => a - b);
  }

  #ofHost(host: string): readonly Grant[] {
    const parents = host.split(".").map((_label, index, labels) => labels.slice(index + 1).join("."));
    return [...(this.#exact.get(host) ?? []), ...parents.flatMap((parent) => this.#below.get(parent) ?? [])];
  }
}

export function isConditional(grant: FoundGrant): boolean {
  return grant.methods !== undefined || grant.path !== undefined;
}

export function forScheme(grants: readonly FoundGrant[], scheme: "http" | "https"): readonly FoundGrant[] {
  return grants.filter((grant) => grant.scheme === "any" || grant.scheme === scheme);
}

export interface RequestLine {
  readonly method: string;
  /** With the query. */
  readonly path: string;
}

/** The grant that allows a request and the path to send, which is the path that was judged; undefined when none does. */
export function judgeRequest(
  grants: readonly FoundGrant[],
  { method, path }: RequestLine,
): { readonly grant: FoundGrant; readonly path: string } | Refusal | undefined {
  const free = grants.find((grant) => !isConditional(grant));
  if (free) return { grant: free, path };
  const query = path.includes("?") ? path.slice(path.indexOf("?")) : "";
  const canonical = toCanonicalPath(query === "" ? path : path.slice(0, -query.length));
  if (canonical === undefined)
    return new Refusal("ambiguous-path", "Servers may read this path in different ways, so no rule can judge it.");
  const grant = grants.find((row) => (row.methods?.includes(method) ?? true) && (row.path === undefined || isBelow(canonical, row.path)));
  return grant && { grant, path: `${canonical}${query}` };
}
