import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { BelljarError } from "../../errors.ts";
import { loadConfigText } from "../../mcp/client/config/load-config-text.ts";
import { type HubEntries, readHubEntries } from "../../mcp/proxy/hub-file.ts";
import { parseNetworkPolicy } from "../../network/check-policy.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption, textOptions } from "../command.ts";
import { openMcpServers } from "../compose/open-mcp-servers.ts";
import { readConfig } from "../compose/open-stack.ts";
import { serverAddress } from "../compose/server-address.ts";
import { printJson, printLine } from "../print.ts";
import { usage } from "../usage.ts";
import { parsePairs, parseSecretOptions } from "../values.ts";

const HELP = "belljar server add --help";
const FIELDS = ["url", "header", "env", "network", "secret", "mount", "template", "isolation", "session", "pin"];
const MOUNT = /^(.+?)(?::(copy|ro|rw))?$/s;
/** As it stands in a request. */
const HEADER_LINE = /^([A-Za-z0-9-]{1,100}):/;

type Entry = Readonly<Record<string, unknown>>;

interface Mount {
  readonly host: string;
  readonly mode: string;
}

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { entries, unusable } = await readEntries(call, context);
  const [only] = unusable;
  if (only && unusable.length + Object.keys(entries).length === 1) throw only.problem;
  const servers = await openMcpServers(call, context);
  const added = [];
  const problems = [...unusable];
  for (const [name, entry] of Object.entries(entries)) {
    try {
      added.push(await servers.add(name, entry));
      if (!isSet(call, "json")) printLine(context.stdout, name);
    } catch (problem) {
      // One of a file that cannot be used spoils no other.
      if (!(problem instanceof BelljarError) || Object.keys(entries).length === 1) throw problem;
      problems.push({ name, problem });
    }
  }
  if (isSet(call, "json")) printJson(context.stdout, added);
  for (const { name, problem } of problems) printLine(context.stderr, `belljar: ${name} is not added: ${problem.message}`);
  return problems.length === 0 ? 0 : 1;
}

async function readEntries(call: CommandCall, context: CommandContext): Promise<HubEntries> {
  const [name] = call.positionals;
  const file = textOption(call, "from");
  if (file !== undefined) return readFile(call, file);
  if (name === undefined) throw usage("A server needs a NAME, or --from FILE", HELP);
  const entry = { ...targetOf(call, context), ...fieldsOf(call) };
  return { entries: { [name]: serverAddress(readConfig(call, context), context) ? entry : await placed(entry) }, unusable: [] };
}

/**
 * The entry with its folder and its files as paths of this machine, which a server that starts elsewhere needs. Without a folder or a template its
 * sandbox has nothing that a relative path could mean. Rejects with `CONFIG_INVALID` for a folder that is not there.
 */
async function placed(entry: Entry): Promise<Entry> {
  const { command, args, mounts, template } = entry as { command?: string; args?: string[]; mounts?: readonly Mount[]; template?: string };
  if (mounts) return { ...entry, mounts: await Promise.all(mounts.map(placedMount)) };
  if (command === undefined || template !== undefined) return entry;
  return { ...entry, command: placedPath(command), args: args?.map(placedPath) };
}

async function placedMount({ host, mode }: Mount): Promise<Mount> {
  const path = resolve(host);
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return { host: path, mode };
  throw new BelljarError("CONFIG_INVALID", `--mount: there is no folder ${path}; write FOLDER, or FOLDER:ro, FOLDER:rw or FOLDER:copy`);
}

function placedPath(text: string): string {
  return /^\.\.?\//.test(text) && existsSync(text) ? resolve(text) : text;
}

/** Throws `USAGE` for an option that would be read from the file. */
async function readFile({ positionals: [name], rest, options }: CommandCall, file: string): Promise<HubEntries> {
  const beside = FIELDS.find((field) => options[field] !== undefined);
  if (beside !== undefined || rest.length > 0)
    throw usage(`--from FILE says all of a server: leave ${beside === undefined ? "the command" : `--${beside}`} out`, HELP);
  const found = readHubEntries(await loadConfigText(file), file);
  const { entries } = found;
  if (name === undefined) return found;
  const entry = Object.hasOwn(entries, name) ? entries[name] : undefined;
  const unusable = found.unusable.filter((one) => one.name === name);
  if (entry || unusable.length > 0) return { entries: entry ? { [name]: entry } : {}, unusable };
  throw new BelljarError(
    "MCP_SERVER_NOT_FOUND",
    `${file} names no server "${name}"; it names ${Object.keys(entries).join(", ") || "none"}`,
  );
}

function targetOf(call: CommandCall, { env }: CommandContext): Entry {
  const url = textOption(call, "url");
  const [command, ...args] = call.rest;
  if ((url === undefined) === (command === undefined)) throw usage("A server has one of both: -- COMMAND ARGS..., or --url URL", HELP);
  const headers = parseHeaders(textOptions(call, "header"));
  const variables = parsePairs("env", textOptions(call, "env"), env);
  const isEmpty = (pairs: object): boolean => Object.keys(pairs).length === 0;
  if (url === undefined ? !isEmpty(headers) : !isEmpty(variables))
    throw usage(url === undefined ? "--header is for a server with --url" : "--env is for a server with a command", HELP);
  if (url !== undefined) return { url, ...(!isEmpty(headers) && { headers }) };
  return { command, args, ...(!isEmpty(variables) && { env: variables }) };
}

/** The value is in no message, for it may be a key. */
function parseHeaders(texts: readonly string[]): Readonly<Record<string, string>> {
  const [, name] = texts.map((text) => HEADER_LINE.exec(text)).find((found) => found !== null) ?? [];
  if (name !== undefined) throw usage(`--header takes NAME=VALUE: write "${name}=VALUE" in the place of "${name}: VALUE"`, HELP);
  return parsePairs("header", texts);
}

function fieldsOf(call: CommandCall): Entry {
  const named = ["template", "isolation", "session", "pin"].flatMap((field) => {
    const value = textOption(call, field);
    return value === undefined ? [] : [[field, value]];
  });
  const network = textOption(call, "network");
  const mount = textOption(call, "mount");
  const secrets = secretsOf(call);
  return {
    ...Object.fromEntries(named),
    ...(network !== undefined && { network: parseNetworkPolicy(network) }),
    ...(Object.keys(secrets).length > 0 && { secrets }),
    ...(mount !== undefined && { mounts: [parseMount(mount)] }),
  };
}

/** By the name of the secret, as an entry has them. */
function secretsOf(call: CommandCall): Entry {
  const uses = Object.entries(parseSecretOptions(textOptions(call, "secret"), HELP));
  const named = new Map(uses.map(([env, { secret, hosts }]) => [secret, { env, hosts }]));
  if (named.size < uses.length) throw usage("--secret names a secret for several variables: a server has it in one", HELP);
  return Object.fromEntries(named);
}

function parseMount(text: string): Mount {
  const [, host = "", mode = "ro"] = MOUNT.exec(text) ?? [];
  return { host, mode };
}
