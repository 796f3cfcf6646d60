import { openOnce } from "../../async/open-once.ts";
import type { Caller } from "../../catalog/caller.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { ToolServerOwners } from "../../gateway/facade/tool-server-owners.ts";
import { createShellSessions } from "../../interpreter/lasting/shell-sessions.ts";
import { portUrls } from "../../network/ports/port-urls.ts";
import { tabsOf } from "../../tools/browser/browser-call.ts";
import { builtinTools, otherBuiltinTools } from "../../tools/builtin-tools.ts";
import { LateCommands } from "../../tools/shell/late-commands.ts";
import type { WebSearch } from "../../tools/web/web-search.ts";
import type { LocalStack } from "./open-stack.ts";
import { openInterpreter, openTexts } from "./open-stack.ts";

export interface BuiltinParts {
  readonly snippetsDirectory: string | undefined;
  readonly portOrigin: () => Promise<URL>;
  readonly toolServers: ToolServerOwners;
}

/** The built-in tools, with what they work with. Disposing it ends their shells and programs. */
export interface OpenBuiltinTools extends AsyncDisposable {
  readonly tools: readonly Tool[];
  /** Closes the tabs of a client that has gone. */
  readonly left: (caller: Caller, clientId: string) => void;
}

export async function openBuiltinTools(
  stack: LocalStack,
  { snippetsDirectory, portOrigin, toolServers }: BuiltinParts,
): Promise<OpenBuiltinTools> {
  const { config, sandboxes } = stack;
  const interpreter = await openInterpreter(stack);
  const shells = createShellSessions(config);
  const late = new LateCommands();
  const texts = openTexts();
  const browsers = await stack.browsers();
  const tools = builtinTools({
    interpreter,
    sandboxes,
    shells,
    late,
    texts,
    portUrls: async (link) => portUrls(await portOrigin(), link),
    ...(snippetsDirectory !== undefined && { snippetsDirectory }),
    templates: openOnce(() => stack.templates()),
    userTools: () => stack.userTools(),
    runScript: async (principal, script) => (await stack.userTools()).runScript(principal, script),
    agentPublish: config.tools.agentPublish,
    browsers,
    web: { search: lazySearch(toolServers) },
    config,
  });
  return {
    tools: [...tools, ...otherBuiltinTools({ browsers })],
    left: ({ principal }, clientId) => browsers.leave(tabsOf(principal, clientId)),
    async [Symbol.asyncDispose]() {
      texts[Symbol.dispose]();
      await late[Symbol.asyncDispose]();
      await shells[Symbol.asyncDispose]();
      await interpreter[Symbol.asyncDispose]();
    },
  };
}

/** Loaded lazily, because most servers never search. */
function lazySearch({ settings }: ToolServerOwners): WebSearch {
  return {
    async search(principal, query, signal) {
      const { createToolServerSearch } = await import("../../gateway/facade/tool-server-search.ts");
      return createToolServerSearch(settings).search(principal, query, signal);
    },
  };
}
