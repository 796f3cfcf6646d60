import { dirname, join, resolve } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { Config } from "../../config/config.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { networkOption } from "../compose/configured-policy.ts";
import { readConfig } from "../compose/open-stack.ts";
import { refuseForServer } from "../compose/refuse-for-server.ts";
import type { McpHost, StdioServer } from "../connect/hosts.ts";
import { HOSTS } from "../connect/hosts.ts";
import { readSettings } from "../connect/settings-file.ts";
import { packageRoot } from "../compose/package-root.ts";
import { printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = ""] = call.positionals;
  const host = Object.hasOwn(HOSTS, id) ? HOSTS[id] : undefined;
  if (!host) throw new BelljarError("USAGE", `Unknown host "${id}"; expected one of ${Object.keys(HOSTS).join(", ")}`);
  const folder = resolve(textOption(call, "workspace")?.replace(/:(copy|ro|rw)$/, "") ?? ".");
  const server = await stdioServer(call, context);
  const name = textOption(call, "name") ?? "belljar";
  if (!/^[a-z][a-z0-9-]{0,29}$/.test(name)) throw new BelljarError("USAGE", "--name has 1 to 30 characters: a-z, 0-9 and dash");
  if (isSet(call, "print")) context.stdout.write(host.place("", name, server).text ?? "");
  else await place(host, { folder, name, server, context, force: isSet(call, "force") });
  return 0;
}

/** The command that starts Belljar, with absolute paths: the host's PATH may have neither node nor belljar. */
async function stdioServer(call: CommandCall, context: CommandContext): Promise<StdioServer> {
  const { url, tokenFile } = await checkedConfig(call, context);
  const program = [join(packageRoot(), "bin/belljar.js"), "mcp"];
  const home = context.env["BELLJAR_HOME"] ? ["--home", resolve(context.env["BELLJAR_HOME"])] : [];
  const token = tokenFile === undefined ? [] : ["--token-file", resolve(tokenFile)];
  const named = (option: string): readonly string[] => {
    const value = textOption(call, option);
    return value === undefined ? [] : [`--${option}`, value];
  };
  const what = url === undefined ? [...home, ...named("network"), "--workspace", absoluteWorkspace(call)] : ["--gateway", url, ...token];
  return { command: process.execPath, args: [...program, ...named("toolsets"), ...what] };
}

/** What `mcp` would refuse at the host's start is refused here, where a person reads it. */
async function checkedConfig(call: CommandCall, context: CommandContext): Promise<Config> {
  const config = readConfig(call, context);
  if (config.url !== undefined) refuseForServer(call, ["network", "toolsets"]);
  await networkOption(call);
  if (textOption(call, "toolsets") !== undefined) {
    const { parseToolScope } = await import("../../tools/toolsets.ts");
    parseToolScope(config);
  }
  return config;
}

function absoluteWorkspace(call: CommandCall): string {
  const [, path = ".", mode = ""] = /^(.*?)(:(?:copy|ro|rw))?$/s.exec(textOption(call, "workspace") ?? ".") ?? [];
  return resolve(path || ".") + mode;
}

interface Placed {
  readonly folder: string;
  readonly name: string;
  readonly server: StdioServer;
  readonly context: CommandContext;
  readonly force: boolean;
}

async function place(host: McpHost, { folder, name, server, context, force }: Placed): Promise<void> {
  const file = host.file(folder);
  const isOfProject = file !== host.file(dirname(folder));
  try {
    const settings = await readSettings(file, isOfProject ? folder : undefined);
    const { text } = host.place(settings.text ?? "", name, server, { force });
    if (text === undefined) return printLine(context.stderr, `${host.title} knows Belljar already: ${file}`);
    await settings.replace(text);
    printLine(context.stderr, `${settings.text === undefined ? "Wrote" : "Added Belljar to"} ${file}`);
    printLine(context.stderr, `${host.next}.`);
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    throw new BelljarError(cause.code, `${host.title}'s ${file} is left as it is: ${cause.message}`, { cause });
  }
}
