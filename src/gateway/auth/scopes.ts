import { normalize } from "node:path/posix";
import { A_SIZE, toBytes } from "../../config/size.ts";
import { BelljarError } from "../../errors.ts";
import { parseNetworkPolicy } from "../../network/check-policy.ts";
import type { NetworkPolicy } from "../../network/policy.ts";
import type { Limits, Workspace } from "../../runtime/contract/sandbox-spec.ts";
import { findClash } from "../../tools/toolsets.ts";
import type { Area, Grants, Quotas, TokenSurface } from "../../sandbox/sandbox.ts";

/** Adds one scope to the grants of the scopes before it. */
type Scope = (grants: Grants, value: string) => Grants;

/**
 * The scopes of a token, as `belljar token create --scope` takes them. Scopes of one kind add up: a token with two toolsets has both.
 * A token without scopes may do everything that the configuration allows, with exceptions. It gets no folder of the host. Its
 * sandboxes reach only the public Internet. They have the standard runtime. It cannot ask for `nestedFilters`. It cannot publish or share tools,
 * and cannot add or approve MCP servers.
 */
const SCOPES: Readonly<Record<string, { readonly value?: string; readonly description: string; readonly apply: Scope }>> = {
  toolset: {
    value: "NAME",
    description: "this toolset: its tools, resources and routes",
    apply: (grants, name) => ({ ...grants, toolsets: [...(grants.toolsets ?? []), parseName(name)] }),
  },
  secrets: { description: "the routes of its owner's secrets", apply: area("secrets") },
  settings: { description: "the routes of its owner's tool servers", apply: area("settings") },
  metrics: { description: "the server's metrics (/metrics)", apply: area("metrics") },
  surface: {
    value: "NAME",
    description: "what it opens: e2b, E2B's APIs; belljar, everything else, which is the default",
    apply: (grants, name) => ({ ...grants, surfaces: [...(grants.surfaces ?? []), parseSurface(name)] }),
  },
  "read-only": { description: "only tools that change nothing", apply: (grants) => ({ ...grants, readOnly: true }) },
  workspace: {
    value: "DIR[:MODE]",
    description: "this folder of the host and the folders below it, as copy, ro or rw",
    apply: folder(parseFolder),
  },
  workspaces: { description: "any folder of the host", apply: folder(() => ({ path: "/", mode: "rw" })) },
  runtime: {
    value: "NAME",
    description: "this runtime for its sandboxes",
    apply: (grants, name) => ({ ...grants, runtimes: [...(grants.runtimes ?? []), parseRuntime(name)] }),
  },
  network: {
    value: "none|all|RULE",
    description: "the widest network policy of its sandboxes",
    apply: (grants, text) => ({ ...grants, network: widen(grants.network, parseNetworkPolicy(text)) }),
  },
  "max-memory": { value: "SIZE", description: "the most memory of one sandbox", apply: limit("memoryBytes", parseSize) },
  "max-disk": { value: "SIZE", description: "the most disk of one sandbox", apply: limit("diskBytes", parseSize) },
  "max-cpus": { value: "N", description: "the most cores of one sandbox", apply: limit("cpus", parseCores) },
  "max-pids": { value: "N", description: "the most processes of one sandbox", apply: limit("pids", parseCount) },
  sandboxes: { value: "N", description: "the most live sandboxes at once", apply: quota("sandboxes", parseCount) },
  "stopped-sandboxes": {
    value: "N",
    description: "the most stopped sandboxes, whose files are kept",
    apply: quota("stoppedSandboxes", parseCount),
  },
  snapshots: { value: "N", description: "the most snapshots", apply: quota("snapshots", parseCount) },
  templates: { value: "SIZE", description: "the most bytes of all its templates", apply: quota("templateBytes", parseSize) },
  "template-share": { description: "to share its templates with everybody", apply: (grants) => ({ ...grants, sharesTemplates: true }) },
  tools: {
    value: "RIGHT",
    description: "its own tools: publish, to have them go live; share, with everybody; share-secrets, those with secrets too",
    apply: (grants, what) => ({ ...grants, ...toolRight(what) }),
  },
  servers: { description: "to add, approve and remove MCP servers of its own", apply: (grants) => ({ ...grants, managesServers: true }) },
  server: {
    value: "NAME",
    description: "this MCP server of the server's local user",
    apply: (grants, name) => ({ ...grants, servers: [...(grants.servers ?? []), parseServer(name)] }),
  },
  memory: { value: "SIZE", description: "the most memory of all its live sandboxes", apply: quota("memoryBytes", parseSize) },
  "cpu-seconds": { value: "N", description: "the most CPU time of all its live sandboxes", apply: quota("cpuSeconds", parseCount) },
  "calls-per-minute": { value: "N", description: "the most tool calls in a minute", apply: quota("callsPerMinute", parseCount) },
  "output-per-minute": {
    value: "SIZE",
    description: "the most bytes of results in a minute",
    apply: quota("outputBytesPerMinute", parseSize),
  },
};

/** Every scope as `NAME[:VALUE]`, with its description. */
export function describeScopes(): readonly (readonly [scope: string, description: string])[] {
  return Object.entries(SCOPES).map(([name, { value, description }]) => [value === undefined ? name : `${name}:${value}`, description]);
}

/**
 * Throws `ARGUMENTS_INVALID` for an unknown scope, because a token must never have more rights than its maker meant, and for toolsets that
 * exclude one another.
 */
export function parseScopes(scopes: readonly string[]): Grants {
  const granted = scopes.reduce<Grants>((grants, text) => {
    const [name = "", ...rest] = text.split(":");
    const scope = Object.hasOwn(SCOPES, name) ? SCOPES[name] : undefined;
    if (!scope || (scope.value === undefined) !== (rest.length === 0)) throw unknown(text);
    return scope.apply(grants, rest.join(":"));
  }, {});
  const clash = findClash(granted.toolsets ?? []);
  if (clash !== undefined) throw new BelljarError("ARGUMENTS_INVALID", clash);
  return granted;
}

function toolRight(what: string): Grants {
  switch (what) {
    case "publish":
      return { publishesTools: true };
    case "share":
      return { sharesTools: true };
    case "share-secrets":
      return { sharesToolSecrets: true };
    default:
      throw unknown(`tools:${what}`);
  }
}

function folder(parse: (text: string) => Workspace): Scope {
  return (grants, text) => ({ ...grants, workspaces: [...(grants.workspaces ?? []), parse(text)] });
}

/** The path must be the real one on the server. Links are followed when a caller names a workspace, not here. */
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

/** A token that names an area has only the toolsets and areas that it names. */
function area(name: Area): Scope {
  return (grants) => ({ ...grants, toolsets: grants.toolsets ?? [], areas: [...(grants.areas ?? []), name] });
}

function limit(name: keyof Limits, parse: (text: string) => number): Scope {
  return (grants, text) => ({ ...grants, limits: { ...grants.limits, [name]: least(grants.limits?.[name], parse(text)) } });
}

function quota(name: keyof Quotas, parse: (text: string) => number): Scope {
  return (grants, text) => ({ ...grants, quotas: { ...grants.quotas, [name]: least(grants.quotas?.[name], parse(text)) } });
}

/** Of a limit that is named twice, the lower value holds. */
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

function parseSurface(text: string): TokenSurface {
  if (text === "e2b" || text === "belljar") return text;
  throw unknown(`surface:${text}`);
}

function parseServer(text: string): string {
  return text !== "" && text.length <= 200 ? text : refuse(text, "the name of an MCP server");
}

function parseRuntime(text: string): string {
  return /^[a-z0-9-]{1,40}$/.test(text) ? text : refuse(text, "the name of a runtime, as namespace");
}

function parseSize(text: string): number {
  return toBytes(text) ?? refuse(text, A_SIZE);
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
