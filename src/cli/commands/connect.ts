import { mkdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { BelljarError } from "../../errors.ts";
import type { Config } from "../../config/config.ts";
import { errnoOf } from "../../files/file-error.ts";
import { replaceFile } from "../../files/replace-file.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { networkOption } from "../compose/configured-policy.ts";
import { readConfig } from "../compose/open-stack.ts";
import { refuseForServer } from "../compose/refuse-for-server.ts";
import type { McpHost, StdioServer } from "../connect/hosts.ts";
import { HOSTS } from "../connect/hosts.ts";
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
  else await place(host, { file: host.file(folder), name, server, context, force: isSet(call, "force") });
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
  readonly file: string;
  readonly name: string;
  readonly server: StdioServer;
  readonly context: CommandContext;
  readonly force: boolean;
}

async function place(host: McpHost, { file, name, server, context, force }: Placed): Promise<void> {
  const before = await readIfPresent(file);
  const { text } = placedIn(host, file, () => host.place(before ?? "", name, server, { force }));
  if (text === undefined) return printLine(context.stderr, `${host.title} knows Belljar already: ${file}`);
  await replaceConfig(file, text);
  printLine(context.stderr, `${before === undefined ? "Wrote" : "Added Belljar to"} ${file}`);
  printLine(context.stderr, `${host.next}.`);
}

function placedIn<T>(host: McpHost, file: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    throw new BelljarError(cause.code, `${host.title}'s ${file} is left as it is: ${cause.message}`, { cause });
  }
}

async function readIfPresent(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    if (errnoOf(cause) === "ENOENT") return undefined;
    throw new BelljarError("CONFIG_INVALID", `Cannot read ${file}: check that this user may`, { cause });
  }
}

/** Replaces the file atomically, and keeps its mode. If it is a symbolic link, the link's target is replaced. */
async function replaceConfig(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    const target = await realpath(file).catch(() => file);
    const mode = await stat(target).then(
      (found) => found.mode & 0o777,
      () => 0o644,
    );
    await replaceFile(target, text, { mode });
  } catch (cause) {
    throw new BelljarError("CONFIG_INVALID", `Cannot write ${file}: print what belongs there with --print`, { cause });
  }
}
