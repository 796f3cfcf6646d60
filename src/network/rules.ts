import { getPublicSuffix } from "tldts";
import { BelljarError } from "../errors.ts";
import { kindOfAddress } from "./egress/addresses.ts";
import { isAddress, toAuthority, toCanonicalHost } from "./host-name.ts";
import { findSet } from "./named-sets.ts";
import { toRulePath } from "./request-path.ts";

/** One thing that a rule allows. A rule without a port has two allowances: plain HTTP on 80 and TLS on 443. */
export interface Allowance {
  /** The rule's text in the policy. For the rules of a set it is the set's name. */
  readonly rule: string;
  readonly host: string;
  /** True if it allows every name below `host`, but not `host` itself. */
  readonly isWildcard: boolean;
  readonly port: number;
  readonly scheme: "http" | "https" | "any";
  readonly methods?: readonly string[];
  /** Path prefix, without a slash at the end. */
  readonly path?: string;
  /** The rule names exactly this host and port, so the host may lead to an address that is otherwise refused. */
  readonly isExact: boolean;
}

interface Rule {
  readonly text: string;
  readonly allowances: readonly Allowance[];
}

const NO_ADDRESSES: ReadonlySet<string> = new Set();
const RULE = /^(?:(?<methods>[^\s/.:]+) +)?(?:(?<scheme>https?):\/\/)?(?<host>\[[^\]]*\]|[^/:\s]+)(?::(?<port>\d{1,5}))?(?<path>\/\S*)?$/i;
const METHODS = new Set(["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]);
const RULE_MAX_LENGTH = 512;

/** Parses a rule to its canonical form and its allowances. Throws `ARGUMENTS_INVALID`. */
export function parseRule(text: string): Rule {
  const written = text.trim();
  const set = findSet(written.toLowerCase());
  if (set)
    return {
      text: set.name,
      allowances: set.rules.flatMap(({ rule }) => parseWritten(rule).allowances.map((allowance) => ({ ...allowance, rule: set.name }))),
    };
  return parseWritten(written);
}

function parseWritten(written: string): Rule {
  const parts = written.length <= RULE_MAX_LENGTH ? RULE.exec(written)?.groups : undefined;
  if (!parts?.["host"]) throw invalid(written, "write host[:port], *.domain, or the name of a set (npm, pypi, debian, github)");
  const { host, isWildcard } = parseHost(written, parts["host"]);
  const scheme = parts["scheme"]?.toLowerCase() as "http" | "https" | undefined;
  const port = parsePort(written, parts["port"]);
  assertReachable(written, host, { port, path: parts["path"] });
  const methods = parts["methods"] === undefined ? undefined : parseMethods(written, parts["methods"]);
  const path = parts["path"] === undefined ? undefined : parsePath(written, parts["path"]);
  const shown = isWildcard ? `*.${host}` : host;
  const authority = port === undefined ? toAuthority(shown, 0).slice(0, -2) : toAuthority(shown, port);
  const rule = `${methods ? `${methods.join("+")} ` : ""}${scheme ? `${scheme}://` : ""}${authority}${path ?? ""}`;
  const base = { rule, host, isWildcard, isExact: port !== undefined && !isWildcard, ...(methods && { methods }), ...(path && { path }) };
  return { text: rule, allowances: spread(scheme, port).map((way) => ({ ...base, ...way })) };
}

/** Refuses a rule that could never allow anything, because it must be a mistake. */
function assertReachable(
  written: string,
  host: string,
  { port, path }: { readonly port: number | undefined; readonly path: string | undefined },
): void {
  if (isAddress(host) && /^\/\d{1,3}$/.test(path ?? "")) throw invalid(written, "a rule is for one address, not for a range of them");
  if (port !== undefined) return;
  if (host === "none" || host === "all") throw invalid(written, `${host} is a whole policy, and cannot be one of several rules`);
  if (isAddress(host) && kindOfAddress(host, NO_ADDRESSES) !== "public")
    throw invalid(written, `${host} is not an address of the public Internet, so the rule must name its port too`);
  if (!host.includes(".") && !isAddress(host))
    throw invalid(written, `"${host}" is not a set, and a name without a dot is of this machine's own network: write its port too`);
}

function spread(scheme: "http" | "https" | undefined, port: number | undefined): readonly Pick<Allowance, "scheme" | "port">[] {
  if (port !== undefined) return [{ scheme: scheme ?? "any", port }];
  const ways = [
    { scheme: "http", port: 80 },
    { scheme: "https", port: 443 },
  ] as const;
  return ways.filter((way) => scheme === undefined || way.scheme === scheme);
}

function parseHost(written: string, text: string): { readonly host: string; readonly isWildcard: boolean } {
  const isWildcard = text.startsWith("*.");
  if (text === "*") throw invalid(written, "to allow every host, give the policy all");
  const host = toCanonicalHost(isWildcard ? text.slice(2) : text);
  if (host === undefined) throw invalid(written, `"${text.slice(0, 100)}" names no host`);
  if (isWildcard) assertNarrowWildcard(written, host);
  return { host, isWildcard };
}

/** Anybody can register a name below a public suffix (`com`, `co.uk`, `github.io`). */
function assertNarrowWildcard(written: string, host: string): void {
  if (isAddress(host)) throw invalid(written, "an address has no names below it");
  if (!host.includes(".") || getPublicSuffix(host, { allowPrivateDomains: true }) === host)
    throw invalid(written, `anybody can register a name below "${host}"; name the domain that you mean`);
}

function parseMethods(written: string, text: string): readonly string[] {
  const methods = [...new Set(text.toUpperCase().split("+"))].toSorted();
  const unknown = methods.find((method) => !METHODS.has(method));
  if (unknown !== undefined) throw invalid(written, `"${unknown.slice(0, 40)}" is not a method; write GET, or GET+POST`);
  return methods;
}

function parsePort(written: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (port < 1 || port > 65_535) throw invalid(written, "a port is 1 to 65535");
  return port;
}

/** Returns undefined for `/`, which allows every path. */
function parsePath(written: string, text: string): string | undefined {
  const path = toRulePath(text);
  if (path === undefined) throw invalid(written, "a path prefix has no query, comma, encoded slash or control character");
  return path === "/" ? undefined : path.replace(/\/$/, "");
}

function invalid(written: string, why: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `Network rule "${written.slice(0, 200)}" cannot be used: ${why}`);
}
