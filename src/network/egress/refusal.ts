import type { ConnectionRecord } from "../connection-record.ts";
import { isAddress, toAuthority, toCanonicalHost } from "../host-name.ts";
import { kindOfAddress } from "./addresses.ts";

interface Row {
  readonly verdict: Exclude<ConnectionRecord["verdict"], "allowed">;
  readonly status: number;
  /** Reply code of SOCKS5, RFC 1928. */
  readonly socks: number;
}

/** All reasons for refusing, failing or cutting a connection. The words are stable: the audit and `x-belljar-error` show them. */
export const REASONS = {
  "no-rule": { verdict: "refused", status: 403, socks: 2 },
  "private-address": { verdict: "refused", status: 403, socks: 2 },
  "own-listener": { verdict: "refused", status: 403, socks: 2 },
  "mixed-addresses": { verdict: "refused", status: 403, socks: 2 },
  "sni-missing": { verdict: "refused", status: 403, socks: 2 },
  "sni-mismatch": { verdict: "refused", status: 403, socks: 2 },
  "encrypted-hello": { verdict: "refused", status: 403, socks: 2 },
  "host-mismatch": { verdict: "refused", status: 403, socks: 2 },
  "not-tls": { verdict: "refused", status: 403, socks: 2 },
  placeholder: { verdict: "refused", status: 403, socks: 2 },
  "policy-changed": { verdict: "refused", status: 403, socks: 2 },
  "ambiguous-path": { verdict: "refused", status: 400, socks: 1 },
  "bad-request": { verdict: "refused", status: 400, socks: 1 },
  http2: { verdict: "refused", status: 505, socks: 1 },
  "too-slow": { verdict: "refused", status: 408, socks: 1 },
  "too-many-connections": { verdict: "refused", status: 429, socks: 1 },
  "too-fast": { verdict: "refused", status: 429, socks: 1 },
  "too-much-data": { verdict: "refused", status: 429, socks: 1 },
  "no-address": { verdict: "failed", status: 502, socks: 4 },
  unreachable: { verdict: "failed", status: 502, socks: 4 },
  "connection-refused": { verdict: "failed", status: 502, socks: 5 },
  reset: { verdict: "failed", status: 502, socks: 1 },
  "bad-certificate": { verdict: "failed", status: 502, socks: 1 },
  "bad-response": { verdict: "failed", status: 502, socks: 1 },
  "timed-out": { verdict: "failed", status: 504, socks: 4 },
  "secret-missing": { verdict: "failed", status: 502, socks: 1 },
  internal: { verdict: "failed", status: 500, socks: 1 },
} as const satisfies Record<string, Row>;

export type Reason = keyof typeof REASONS;

interface RefusalDetail {
  readonly brief?: string;
  readonly missingRule?: string;
}

/** The reason why a connection was not made or was cut. The program inside and the audit get it. */
export class Refusal {
  readonly reason: Reason;
  /** Text for the program inside: what happened, and what to do. */
  readonly text: string;
  /** A short form for the status line. Many programs show nothing else of a refused CONNECT. */
  readonly brief: string;
  /** The rule that would allow it. Undefined if none can. */
  readonly missingRule: string | undefined;

  constructor(reason: Reason, text: string, { brief = reason, missingRule }: RefusalDetail = {}) {
    this.reason = reason;
    this.text = text;
    this.brief = brief;
    this.missingRule = missingRule;
  }

  get status(): number {
    return REASONS[this.reason].status;
  }

  get verdict(): Row["verdict"] {
    return REASONS[this.reason].verdict;
  }

  get socksReply(): number {
    return REASONS[this.reason].socks;
  }
}

export interface Place {
  readonly host: string;
  readonly port: number;
}

/** Returns the rule that would allow the place. A rule for a place that is not of the public Internet must name its port. */
export function ruleFor({ host, port }: Place): string {
  const isPublic = isAddress(host) ? kindOfAddress(host) === "public" : host.includes(".");
  return isPublic && (port === 80 || port === 443) ? toAuthority(host, port).replace(/:\d+$/, "") : toAuthority(host, port);
}

export function noRule(sandbox: string, place: Place, request = ""): Refusal {
  const rule = ruleFor(place);
  const what = request === "" ? toAuthority(place.host, place.port) : `${request} of ${toAuthority(place.host, place.port)}`;
  return new Refusal(
    "no-rule",
    `This sandbox may not reach ${what}: no rule of its network policy allows it. The missing rule is "${rule}". ${howToAllow(sandbox, rule)}`,
    { brief: `the missing rule is ${rule}`, ...(toCanonicalHost(place.host) === place.host && { missingRule: rule }) },
  );
}

/** Refuses an address outside the public Internet, and names the missing rule. It hides the address, which would help to map a network. */
export function privateAddress(sandbox: string, { host, port }: Place): Refusal {
  const rule = toAuthority(host, port);
  const what = isAddress(host) ? `${host} is` : `${host} leads to an address that is`;
  const text = `${what} not of the public Internet, so it is not reached unless a rule names exactly "${rule}". ${howToAllow(sandbox, rule)}`;
  return new Refusal("private-address", text, { missingRule: rule });
}

/** Refuses an address that the sandbox's DNS gave for a name. Such an address leads to the name inside alone. */
export function addressOfName({ host, port }: Place, name: string): Refusal {
  const text = `${host} stands for ${name} inside this sandbox and leads nowhere else. Ask the proxy for ${toAuthority(name, port)}, or connect to the address without a proxy.`;
  return new Refusal("private-address", text, { brief: `ask the proxy for ${toAuthority(name, port)}` });
}

/** Refuses a name that no rule for the name can allow. */
export function closedAddress({ host }: Place): Refusal {
  const text = `${host} leads to a link-local, metadata or reserved address, and no name is followed there. A rule for the address itself reaches it.`;
  return new Refusal("private-address", text);
}

/** Refuses a port of Belljar itself. A sandbox that could reach it would act as the user of this machine. */
export function ownListener({ host, port }: Place): Refusal {
  const text = `Belljar itself listens at ${toAuthority(host, port)}, and no rule leads a sandbox there. Reach another program, or give that one another port.`;
  return new Refusal("own-listener", text);
}

/** Refuses a place that a rule names, because the rule's author may only name places on the public Internet. */
export function notGrantedInside({ host, port }: Place): Refusal {
  const what = isAddress(host) ? `${host} is` : `${host} leads to an address that is`;
  const text = `${what} not of the public Internet, which only the user of this machine, and a token with the scope network:${toAuthority(host, port)}, may allow.`;
  return new Refusal("private-address", text);
}

export function mixedAddresses({ host }: Place): Refusal {
  const text = `${host} leads to public addresses and to others, so it is refused whatever the rules say. A rule for one address itself reaches that one.`;
  return new Refusal("mixed-addresses", text);
}

/** What happened, for a request that belongs to no sandbox. */
export function withoutSandbox(refusal: Refusal, { host, port }: Place): string {
  if (refusal.missingRule === undefined) return refusal.text;
  const why =
    refusal.reason === "private-address"
      ? "leads to an address that is not of the public Internet"
      : "is not allowed by the network policy";
  return `${toAuthority(host, port)} ${why}.`;
}

function howToAllow(sandbox: string, rule: string): string {
  return `Whoever runs the sandbox can allow it: belljar sandbox network ${sandbox} --allow ${rule}`;
}
