import { homedir } from "node:os";
import { printableText } from "../../files/printable.ts";
import { loadConfig } from "../../config/config.ts";
import { loadConfigText } from "../../mcp/client/config/load-config-text.ts";
import type { PlacedClientOptions, ReadConfig } from "../../mcp/client/open-mcp-client.ts";
import { readHubFile } from "../../mcp/proxy/hub-file.ts";
import { openServerPlace } from "../../mcp/proxy/server-instance.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { textOption } from "../command.ts";
import { lookOnHost } from "../compose/look-on-host.ts";
import { openHomeSecretStore } from "../compose/open-home-secret-store.ts";
import { openLocalStack } from "../compose/open-stack.ts";
import { serverParts } from "../compose/server-parts.ts";
import { printLine } from "../print.ts";

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
  const config = loadConfig({ env, flags: { home: textOption(call, "home") } });
  const stack = await openLocalStack(config, context);
  const report = (problem: string): void => printLine(context.stderr, `belljar: ${printableText(problem)}`);
  const secrets = openHomeSecretStore(config);
  const parts = serverParts({ config, sandboxes: stack.sandboxes, secrets, templates: () => stack.templates(), report });
  return {
    async openPlace({ name }) {
      // The file that comes first has the server.
      const found = read.flatMap(({ servers, unusable }) => [...servers, ...unusable]).find((one) => one.name === name);
      if (found && "problem" in found) throw found.problem;
      if (found?.target.kind !== "stdio" || found.settings.isolation === "none") return undefined;
      return openServerPlace(parts, { ...found, target: found.target }, { principal: LOCAL, signal });
    },
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}
