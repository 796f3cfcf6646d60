import { createHash } from "node:crypto";
import { openOnce } from "../../async/open-once.ts";
import type { Caller } from "../../catalog/caller.ts";
import type { Catalog, CatalogLog, CatalogOptions } from "../../catalog/catalog.ts";
import { StoredApprovals } from "../../approvals/stored-approvals.ts";
import { createCatalog } from "../../catalog/catalog.ts";
import { createCallQuota } from "../../catalog/call-quota.ts";
import type { Quota } from "../../catalog/policy.ts";
import { narrowScope } from "../../catalog/narrow-scope.ts";
import { lateTools } from "../../catalog/late-tools.ts";
import { fixedTools, sourceFor } from "../../catalog/tool-source.ts";
import { configureLanguages } from "../../interpreter/configured-languages.ts";
import { createBelljarPrompts } from "../../mcp/prompts/belljar-prompts.ts";
import { createBelljarResources } from "../../mcp/resources/belljar-resources.ts";
import type { Hub } from "../../mcp/proxy/hub.ts";
import type { ToolServerOwners } from "../../gateway/facade/tool-server-owners.ts";
import { composePrompts, composeResources } from "../../mcp/server/compose-doors.ts";
import type { PromptDoor } from "../../mcp/server/prompt-door.ts";
import type { ResourceDoor } from "../../mcp/server/resource-door.ts";
import { ConnectedDefaults } from "../../sandbox/connected-defaults.ts";
import type { KeptDefault } from "../../sandbox/default-sandboxes.ts";
import { workspaceWithin } from "../../sandbox/grants.ts";
import type { DefaultWishes, Principal } from "../../sandbox/sandbox.ts";
import { findHostHint, introduce, tellSurroundings } from "../../sandbox/surroundings.ts";
import { placeOfWorkspace } from "../../sandbox/workspace/workspace-place.ts";
import { BROWSER_II, hasBrowserIi, isDefaultTool, parseToolScope } from "../../tools/toolsets.ts";
import { findSnippets } from "./find-snippets.ts";
import { configuredPolicy } from "./configured-policy.ts";
import type { LocalStack } from "./open-stack.ts";
import { workspaceOption } from "./open-stack.ts";
import { reportMissingTemplates } from "./report-missing-templates.ts";
import { readToolFacts } from "./tool-facts.ts";

type DefaultSandboxOf = CatalogOptions["defaultSandbox"];

export interface ServedTools extends AsyncDisposable {
  readonly catalog: Catalog;
  /** Of calls, which the catalog counts, and of work that counts as one. */
  readonly quota: Quota;
  readonly resources: ResourceDoor;
  readonly prompts: PromptDoor;
  /** Only the local user, and callers with a scope for it, get the workspace of the configuration, within that scope. */
  readonly defaultSandbox: DefaultSandboxOf;
  /**
   * Applies the command line to the caller's default sandbox if it lives. Resolves with a sentence for each wish that cannot be applied.
   * Rejects if no call could use the sandbox, as with `WORKSPACE_CONFLICT`.
   */
  readonly takeUp: (caller: Caller) => Promise<readonly string[]>;
  /** Which servers' tools the caller's list does not show, and what a new default sandbox of the caller has of the host and the network, a line each. */
  readonly introduce: (caller: Caller) => readonly string[];
  /** Keeps the default sandbox of a connected client alive until it is disposed. */
  readonly connected: (caller: Caller) => Disposable;
  /** A client with a session has gone: what it alone has in sandboxes is closed. */
  readonly left: (caller: Caller, clientId: string) => void;
}

/** Of a server inside a machine that somebody else made. */
export interface InsideMachine {
  /** What is told of its files and its network, a line each. */
  readonly lines: readonly string[];
}

/** Tools that need sandboxes beside the caller's own, or a wall around it. */
export const NEED_SANDBOXES: ReadonlySet<string> = new Set(["sandbox", "template", "tools"]);
/** The same, of a toolset whose other tools do not: each of its programs has a sandbox of its own. */
const NEEDS_SANDBOX = "execute_code";
const ALONE = "Belljar runs inside this machine, and makes no sandboxes in it";

export interface OpenToolsOptions {
  readonly inside?: InsideMachine;
  readonly defaultName: string;
  /** What the command line says about default sandboxes. */
  readonly wishes?: DefaultWishes;
  /** Returns the origin of links to ports. Called when a link is created. */
  readonly portOrigin: () => Promise<URL>;
  readonly log: CatalogLog;
  /** Take snippets from `prompts` in the working folder if none are configured. */
  readonly usualSnippets?: boolean;
  /** The callers' tool servers, which `web_search` uses. */
  readonly toolServers: ToolServerOwners;
  /** Takes up what a person edits in the files of tools. Default: true; false for a process that ends with one call. */
  readonly followsEdits?: boolean;
  /** Opens other servers. It belongs to what is opened here. Absent: there are none. */
  readonly hub?: (() => Promise<Hub>) | undefined;
}

/** Reason for callers without a tool server of their own. */
const NO_SEARCH = { web_search: "it searches through a tool server, and none is set for you with /credential and /tool-server-url" };

/** Opens the catalog with the built-in tools, whose code is loaded with the first call, and with the stack's audit. */
export async function openTools(stack: LocalStack, options: OpenToolsOptions): Promise<ServedTools> {
  const { config, audit, sandboxes } = stack;
  const { defaultName, wishes, portOrigin, log, toolServers, usualSnippets = false, followsEdits = true, hub: openHub, inside } = options;
  const snippetsDirectory = findSnippets(config, { usual: usualSnippets, log });
  const scope = parseToolScope(config);
  const languages = configureLanguages(config.languages);
  // The policy of programs is only checked: whoever starts Belljar hears of a wrong one at once.
  const [workspace, userTools, network] = await Promise.all([
    workspaceOption(config),
    stack.userTools(),
    configuredPolicy(config, "sandbox"),
    configuredPolicy(config, "program"),
  ]);
  const hub = await openHub?.();
  if (followsEdits) userTools.followEdits();
  const defaultSandbox: DefaultSandboxOf = (principal, caller) => {
    const shown = workspace && workspaceWithin(workspace, principal);
    // A caller with a token has its limits from the configuration, cut to its scopes.
    const limits = principal.grants === undefined ? wishes?.limits : undefined;
    const options = { ...(shown && { workspace: shown }), ...(limits && { limits }), ...(wishes && { wishes }) };
    return { name: caller.defaultName ?? defaultName, options };
  };
  const keep = async (caller: Caller): Promise<KeptDefault | undefined> => {
    const { name, options } = defaultSandbox(caller.principal, caller);
    return sandboxes.keepDefault(caller.principal, name, options);
  };
  const connected = new ConnectedDefaults({
    keep: async (principal, name) => (await keep({ principal, defaultName: name }))?.lifetimeMs,
    lifetimeMs: config.sandbox.timeoutMs,
    report: (problem) => log.error({}, problem),
  });
  const unknown = (cause: unknown): void => log.error({ err: cause }, "The templates of the configured languages cannot be looked for");
  void reportMissingTemplates(languages, { stack, log }).catch(unknown);
  const narrowed = (principal: Principal) => narrowScope(scope, principal.grants);
  const facts = readToolFacts(languages);
  const needing = facts.filter(
    ({ name, toolset, callsTools }) => NEED_SANDBOXES.has(toolset) || name === NEEDS_SANDBOX || callsTools === true,
  );
  const unusable = inside ? Object.fromEntries(needing.map(({ name }) => [name, ALONE])) : {};
  const builtin = openOnce(async () => {
    const { openBuiltinTools } = await import("./open-builtin-tools.ts");
    return openBuiltinTools(stack, { snippetsDirectory, portOrigin, toolServers });
  });
  const load = async () => (await builtin()).tools;
  const ofBrowserIi = (wanted: boolean) =>
    fixedTools(
      lateTools(
        facts.filter(({ toolset }) => (toolset === BROWSER_II) === wanted),
        load,
      ),
    );
  const quota = createCallQuota({ defaults: config.quotas });
  const catalog = createCatalog({
    sources: [
      // First, because a caller who has it has its tools under names that `browser` has too.
      sourceFor(ofBrowserIi(true), (principal) => hasBrowserIi(narrowed(principal).toolsets)),
      ofBrowserIi(false),
      ...(inside ? [] : [userTools.source]),
      ...(hub ? [hub] : []),
    ],
    sandboxes,
    scope: (principal) => {
      return { ...narrowed(principal), without: { ...unusable, ...(!toolServers.has(principal) && NO_SEARCH) } };
    },
    onScopeChange: (listener) => toolServers.onChange(listener),
    quota,
    approvals: new StoredApprovals(config.home),
    isDefault: isDefaultTool,
    defaultSandbox,
    surroundings: inside
      ? { introduce: async () => inside.lines, findHostHint: async () => undefined, keepsFiles: true }
      : { introduce, findHostHint },
    audit,
    log,
  });
  const others = hub?.doors({ quota, audit });
  const listPage: Catalog["listPage"] = (principal, cursor) => {
    // A call comes soon after a list: its code is loaded once the list is out. If it cannot be, the call says so.
    setImmediate(() => void builtin().catch(() => undefined));
    return catalog.listPage(principal, cursor);
  };
  return {
    catalog: { ...catalog, listPage },
    quota,
    defaultSandbox,
    takeUp: async (caller) => (await keep(caller))?.unmet ?? [],
    introduce: ({ principal, ...caller }) => {
      const { options: wanted } = defaultSandbox(principal, caller);
      // A token's scopes may leave less of it: the first result says what holds.
      const isKnown = network === "none" || principal.grants?.network === undefined;
      // The sandbox may live already, and have been made by another spelling of the folder: the first result names that.
      const shown = wanted.workspace && { ...wanted.workspace, place: placeOfWorkspace(principal, wanted.workspace) };
      const unlisted = catalog.tellUnlisted(principal);
      const surroundings = inside?.lines ?? tellSurroundings(shown, isKnown ? network : undefined);
      return [...(unlisted === undefined ? [] : [unlisted]), ...surroundings];
    },
    connected: ({ principal, ...caller }) => connected.hold(principal, defaultSandbox(principal, caller).name),
    left: (caller, clientId) => {
      // What was never opened has nothing of a client's.
      void builtin.current().then((opened) => opened?.left(caller, clientId));
    },
    prompts: composePrompts([...(inside ? [] : [createBelljarPrompts()]), ...(others ? [others.prompts] : [])]),
    resources: composeResources([
      createBelljarResources({
        sandboxes,
        catalog,
        templates: (principal) => stack.sandboxes.templates(principal),
        madeTemplates: async (principal) => (await stack.templates()).list(principal),
      }),
      ...(others ? [others.resources] : []),
    ]),
    async [Symbol.asyncDispose]() {
      await connected[Symbol.asyncDispose]();
      await hub?.[Symbol.asyncDispose]();
      await (await builtin.current())?.[Symbol.asyncDispose]();
    },
  };
}

/** Names the default sandbox after the project's folder. Hosts start a server for each project, so a project finds its sandbox again. */
export function defaultNameOf(directory: string): string {
  return `dir-${createHash("sha256").update(directory).digest("hex").slice(0, 16)}`;
}
