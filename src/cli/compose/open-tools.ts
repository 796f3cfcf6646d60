import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { Catalog, CatalogLog, CatalogOptions } from "../../catalog/catalog.ts";
import { createCatalog } from "../../catalog/catalog.ts";
import { createCallQuota } from "../../catalog/call-quota.ts";
import { narrowScope } from "../../catalog/narrow-scope.ts";
import { createBelljarPrompts } from "../../mcp/prompts/belljar-prompts.ts";
import { createBelljarResources } from "../../mcp/resources/belljar-resources.ts";
import { SandboxChanges } from "../../mcp/resources/sandbox-changes.ts";
import type { ToolServerOwners } from "../../gateway/facade/tool-server-owners.ts";
import type { PromptDoor } from "../../mcp/server/prompt-door.ts";
import type { ResourceDoor } from "../../mcp/server/resource-door.ts";
import { portUrls } from "../../network/ports/port-urls.ts";
import { workspaceWithin } from "../../sandbox/grants.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import { builtinTools } from "../../tools/builtin-tools.ts";
import { createShellSessions } from "../../tools/shell/shell-sessions.ts";
import type { WebSearch } from "../../tools/web/web-search.ts";
import { isDefaultTool, parseToolScope } from "../../tools/toolsets.ts";
import type { Stack } from "./open-stack.ts";
import { openInterpreter, openTexts, workspaceOption } from "./open-stack.ts";

type DefaultSandboxOf = CatalogOptions["defaultSandbox"];

export interface ServedTools extends AsyncDisposable {
  readonly catalog: Catalog;
  readonly resources: ResourceDoor;
  readonly prompts: PromptDoor;
  /** The stack's; what is made through them is told to those who follow the list of sandboxes. */
  readonly sandboxes: Sandboxes;
  /** The workspace of the configuration is the local user's, and those callers' whom a scope grants it, as much of it as that says. */
  readonly defaultSandbox: DefaultSandboxOf;
}

const TEMPLATES = [
  { name: "base", description: "The default: the host's own programs under a root of its own, with nothing of the host's data" },
];

export interface OpenToolsOptions {
  readonly defaultName: string;
  /** Where links to ports start; asked when one is made. */
  readonly portOrigin: () => Promise<URL>;
  readonly log: CatalogLog;
  /** Through whose tool servers the web is searched. */
  readonly toolServers: ToolServerOwners;
}

/** For callers without a tool server of their own. */
const NO_SEARCH = { web_search: "it searches through a tool server, and none is set for you with /credential and /tool-server-url" };

/** The built-in tools behind the one door, with the stack's audit. */
export async function openTools(stack: Stack, { defaultName, portOrigin, log, toolServers }: OpenToolsOptions): Promise<ServedTools> {
  const { config, audit } = stack;
  const changes = new SandboxChanges(stack.sandboxes);
  const { sandboxes } = changes;
  const scope = parseToolScope(config);
  const [interpreter, workspace] = await Promise.all([openInterpreter(stack), workspaceOption(config)]);
  const shells = createShellSessions(config);
  const texts = openTexts();
  const defaultSandbox: DefaultSandboxOf = (principal, caller) => {
    const shown = workspace && workspaceWithin(workspace, principal);
    return { name: caller.defaultName ?? defaultName, options: shown ? { workspace: shown } : {} };
  };
  const catalog = createCatalog({
    tools: builtinTools({
      interpreter,
      sandboxes,
      shells,
      texts,
      portUrls: async (link) => portUrls(await portOrigin(), link),
      ...(config.snippetsDirectory !== undefined && { snippetsDirectory: resolve(config.snippetsDirectory) }),
      web: { search: lazySearch(toolServers) },
      config,
    }),
    sandboxes,
    scope: (principal) => {
      const narrowed = narrowScope(scope, principal.grants);
      return toolServers.has(principal) ? narrowed : { ...narrowed, without: NO_SEARCH };
    },
    quota: createCallQuota({ defaults: config.quotas }),
    isDefault: isDefaultTool,
    defaultSandbox,
    audit,
    log,
  });
  // The same tools, of which somebody is now shown others.
  toolServers.onChange(() => void catalog.add([]));
  return {
    catalog,
    sandboxes,
    defaultSandbox,
    prompts: createBelljarPrompts(),
    resources: createBelljarResources({ changes, catalog, templates: TEMPLATES }),
    async [Symbol.asyncDispose]() {
      texts[Symbol.dispose]();
      await shells[Symbol.asyncDispose]();
      await interpreter[Symbol.asyncDispose]();
    },
  };
}

/** Most servers never search, and start without the code for it. */
function lazySearch({ settings }: ToolServerOwners): WebSearch {
  return {
    async search(principal, query, signal) {
      const { createToolServerSearch } = await import("../../gateway/facade/tool-server-search.ts");
      return createToolServerSearch(settings).search(principal, query, signal);
    },
  };
}

/** Hosts start one server for each project: the same project finds its sandbox again. */
export function defaultNameOf(directory: string): string {
  return `dir-${createHash("sha256").update(directory).digest("hex").slice(0, 16)}`;
}
