import { homedir } from "node:os";
import { loadConfig } from "../../config/config.ts";
import { loadConfigText } from "../../mcp/client/config/load-config-text.ts";
import type { PlacedClientOptions, ReadConfig } from "../../mcp/client/open-mcp-client.ts";
import { readHubFile } from "../../mcp/proxy/hub-file.ts";
import { inSandbox, sandboxOptions } from "../../mcp/proxy/server-instance.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { textOption } from "../command.ts";
import { lookOnHost } from "../compose/look-on-host.ts";
import { openLocalStack } from "../compose/open-stack.ts";

/** Sandboxes for the programs of a file. Disposing it closes the home; each sandbox ends with its server. */
export interface SandboxPlaces extends AsyncDisposable {
  readonly openPlace: NonNullable<PlacedClientOptions["openPlace"]>;
}

/**
 * Reads the file as the hub does. A program gets the sandbox that its entry describes, and runs on this machine only if the entry says
 * `isolation: "none"`. What the hub refuses is refused here too.
 */
export async function openSandboxPlaces(files: readonly ReadConfig[], call: CommandCall, context: CommandContext): Promise<SandboxPlaces> {
  const { env, signal } = context;
  const scope = { env, workspaceFolder: process.cwd(), userHome: homedir(), inputs: new Map<string, string>(), lookOnHost };
  const read = await Promise.all(files.map(async ({ file }) => readHubFile(await loadConfigText(file), file, scope)));
  const stack = await openLocalStack(loadConfig({ env, flags: { home: textOption(call, "home") } }), context);
  return {
    async openPlace({ name }) {
      // The file that comes first has the server.
      const found = read.flatMap(({ servers, unusable }) => [...servers, ...unusable]).find((one) => one.name === name);
      if (found && "problem" in found) throw found.problem;
      if (!found || found.settings.isolation === "none") return undefined;
      const sandbox = await stack.sandboxes.create(LOCAL, sandboxOptions(found.settings), signal);
      return { openProgram: (program) => inSandbox(sandbox, program), [Symbol.asyncDispose]: () => sandbox.kill() };
    },
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}
