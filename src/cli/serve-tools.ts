import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { Catalog, CatalogLog } from "../catalog/catalog.ts";
import { createCatalog } from "../catalog/catalog.ts";
import { createCallQuota } from "../catalog/call-quota.ts";
import { narrowScope } from "../catalog/narrow-scope.ts";
import type { CreateOptions } from "../sandbox/sandbox.ts";
import { builtinTools } from "../tools/builtin-tools.ts";
import { createShellSessions } from "../tools/shell/shell-sessions.ts";
import { isDefaultTool, parseToolScope } from "../tools/toolsets.ts";
import type { Stack } from "./compose.ts";
import { openInterpreter, workspaceOption } from "./compose.ts";

export interface ServedTools extends AsyncDisposable {
  readonly catalog: Catalog;
}

/** The built-in tools behind the one door, with the stack's audit. */
export async function openTools(
  stack: Stack,
  { defaultName, log }: { readonly defaultName: string; readonly log: CatalogLog },
): Promise<ServedTools> {
  const { config, sandboxes, audit } = stack;
  const scope = parseToolScope(config);
  const [interpreter, workspace] = await Promise.all([openInterpreter(stack), workspaceOption(config)]);
  const shells = createShellSessions(config);
  const options: CreateOptions = workspace ? { workspace } : {};
  const catalog = createCatalog({
    tools: builtinTools({
      interpreter,
      sandboxes,
      shells,
      ...(config.snippetsDirectory !== undefined && { snippetsDirectory: resolve(config.snippetsDirectory) }),
      config,
    }),
    sandboxes,
    scope: ({ grants }) => narrowScope(scope, grants),
    quota: createCallQuota(),
    isDefault: isDefaultTool,
    defaultSandbox: (_principal, caller) => ({ name: caller.defaultName ?? defaultName, options }),
    audit,
    log,
  });
  return {
    catalog,
    async [Symbol.asyncDispose]() {
      await shells[Symbol.asyncDispose]();
      await interpreter[Symbol.asyncDispose]();
    },
  };
}

/** Hosts start one server for each project: the same project finds its sandbox again. */
export function defaultNameOf(directory: string): string {
  return `dir-${createHash("sha256").update(directory).digest("hex").slice(0, 16)}`;
}
