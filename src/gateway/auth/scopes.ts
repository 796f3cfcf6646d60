import { normalize } from "node:path/posix";
import { toBytes } from "../../config/size.ts";
import { BelljarError } from "../../errors.ts";
import { parseNetworkPolicy } from "../../network/check-policy.ts";
import type { NetworkPolicy } from "../../network/policy.ts";
import type { Limits, Workspace } from "../../runtime/runtime.ts";
import type { Area, Grants, Quotas } from "../../sandbox/sandbox.ts";

/** What one scope adds to the grants of those before it. */
type Scope = (grants: Grants, value: string) => Grants;

/**
 * The scopes of a token, as `belljar token create --scope` takes them. Several of one kind add up: two toolsets are both allowed.
 * A token without scopes may do all that the configuration allows, with three exceptions: it has no folder of the
 * host, reaches no place that is not of the public Internet, and cannot ask for `nestedFilters`.
 */
const SCOPES: Readonly<Record<string, { readonly value?: string; readonly description: string; readonly apply: Scope }>> = {
  toolset: {
    value: "NAME",
    description: "this toolset: its tools, resources and routes",
    apply: (grants, name) => ({ ...grants, toolsets: [...(grants.toolsets ?? []), parseName(name)] }),
  },
  secrets: { description: "the routes of its own secrets", apply: area("secrets") },
  settings: { description: "the routes of its tool servers", apply: area("settings") },
  metrics: { description: "what the server counts (/metrics)", apply: area("metrics") },
  "read-only": { description: "only tools that change nothing", apply: (grants) => ({ ...grants, readOnly: true }) },
  workspace: { value: "DIR[:MODE]", description: "this folder of the host, or below; copy, ro or rw", apply: folder(parseFolder) },
  workspaces: { description: "any folder of the host", apply: folder(() => ({ path: "/", mode: "rw" })) },
  network: {
    value: "none|all|RULE",
    description: "the widest network of its sandboxes",
    apply: (grants, text) => ({ ...grants, network: widen(grants.network, parseNetworkPolicy(text)) }),
  },
  "max-memory": { value: "SIZE", description: "the most memory of one sandbox", apply: limit("memoryBytes", parseSize) },
  "max-disk": { value: "SIZE", description: "the most disk of one sandbox", apply: limit("diskBytes", parseSize) },
  "max-cpus": { value: "N", description: "the most cores of one sandbox", apply: limit("cpus", parseCores) },
  "max-pids": { value: "N", description: "the most processes of one sandbox", apply: limit("pids", parseCount) },
  sandboxes: { value: "N", description: "sandboxes that live at once", apply: quota("sandboxes", parseCount) },
  memory: { value: "SIZE", description: "memory of all its live sandboxes", apply: quota("memoryBytes", parseSize) },
  "cpu-seconds": { value: "N", description: "CPU time that its live sandboxes have used", apply: quota("cpuSeconds", parseCount) },
  "calls-per-minute": { value: "N", description: "tool calls in a minute", apply: quota("callsPerMinute", parseCount) },
  "output-per-minute": { value: "SIZE", description: "results in a minute", apply: quota("outputBytesPerMinute", parseSize) },
};

/** `NAME[:VALUE]` of every scope, with what it grants. */
export function describeScopes(): readonly (readonly [scope: string, description: string])[] {
  return Object.entries(SCOPES).map(([name, { value, description }]) => [value === undefined ? name : `${name}:${value}`, description]);
}

/** Throws `ARGUMENTS_INVALID` for a scope that there is not: a token must never have more than was meant. */
export function parseScopes(scopes: readonly string[]): Grants {
  return scopes.reduce<Grants>((grants, text) => {
    const [name = "", ...rest] = text.split(":");
    const scope = Object.hasOwn(SCOPES, name) ? SCOPES[name] : undefined;
    if (!scope || (scope.value === undefined) !== (rest.length === 0)) throw unknown(text);
    return scope.apply(grants, rest.join(":"));
  }, {});
}

function folder(parse: (text: string) => Workspace): Scope {
  return (grants, text) => ({ ...grants, workspaces: [...(grants.workspaces ?? []), parse(text)] });
}

/** The path as it is on the server, since links are followed when a workspace is named and not here. */
function parseFolder(text: string): Workspace {
  const [, path = "", mode = "copy"] = /^(.*?)(?::(copy|ro|rw))?$/s.exec(text) ?? [];
  if (
    path.startsWith("/") &&
    path !== "/" &&
    normalize(path) === path &&
    !path.endsWith("/") &&
    !path.includes("\0") &&
    path.length <= 4096
  )
    return { path, mode: mode as Workspace["mode"] };
  return refuse(text, "an absolute path without links, as /srv/project or /srv/project:ro");
}

/** Naming one names no toolset: as with toolsets, what is not named is not there. */
function area(name: Area): Scope {
  return (grants) => ({ ...grants, toolsets: grants.toolsets ?? [], areas: [...(grants.areas ?? []), name] });
}

function limit(name: keyof Limits, parse: (text: string) => number): Scope {
  return (grants, text) => ({ ...grants, limits: { ...grants.limits, [name]: least(grants.limits?.[name], parse(text)) } });
}

function quota(name: keyof Quotas, parse: (text: string) => number): Scope {
  return (grants, text) => ({ ...grants, quotas: { ...grants.quotas, [name]: least(grants.quotas?.[name], parse(text)) } });
}

/** A limit that is named twice is the narrower one, in whatever order. */
function least(before: number | undefined, value: number): number {
  return Math.min(before ?? value, value);
}

function widen(before: NetworkPolicy | undefined, more: NetworkPolicy): NetworkPolicy {
  if (before === undefined || before === "none" || more === "all") return more;
  if (before === "all" || more === "none") return before;
  return { allow: [...before.allow, ...more.allow] };
}

function parseName(text: string): string {
  if (/^[a-z][a-z0-9_-]{0,39}$/.test(text)) return text;
  throw unknown(`toolset:${text}`);
}

function parseSize(text: string): number {
  return toBytes(text) ?? refuse(text, "a size as 512m or 2g");
}

function parseCount(text: string): number {
  return /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : refuse(text, "a whole number above 0");
}

function parseCores(text: string): number {
  const cores = Number(text);
  return /^\d{0,6}\.?\d{1,6}$/.test(text) && cores > 0 ? cores : refuse(text, "a number above 0");
}

function refuse(text: string, expected: string): never {
  throw new BelljarError("ARGUMENTS_INVALID", `A scope's value ${JSON.stringify(text.slice(0, 40))} is not ${expected}`);
}

function unknown(text: string): BelljarError {
  const known = describeScopes().map(([scope]) => scope);
  return new BelljarError("ARGUMENTS_INVALID", `There is no scope ${JSON.stringify(text.slice(0, 80))}; there are ${known.join(", ")}`);
}
