import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { ifPresent } from "../../files/file-error.ts";
import { loadConfig } from "../../config/config.ts";
import { BelljarError } from "../../errors.ts";
import type { ConfiguredServer, ServerConfig } from "../../mcp/client/config/server-config.ts";
import type { ReadConfig } from "../../mcp/client/open-mcp-client.ts";
import { readMcpConfig } from "../../mcp/client/open-mcp-client.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { textOption } from "../command.ts";
import { printLine, printProblems } from "../print.ts";
import { didYouMean } from "../../files/suggest.ts";
import { usage } from "../usage.ts";
import { Approvals } from "./approvals.ts";
import { askYesNo, withLines } from "./read-lines.ts";

const NAMES_SHOWN = 20;
/** The file of a project that the most hosts read. */
const PROJECT_FILE = ".mcp.json";

/**
 * The servers of a command: those of the file that it names, else those of `mcp.json` in the home, and of the project's file those that the
 * person has approved. Of these the person at the terminal is asked once, and again when the entry has changed; without a terminal they are
 * left out. Rejects with `USAGE` for a wanted server that is not there, or not approved.
 */
export async function findConfig(call: CommandCall, context: CommandContext, wanted: string | undefined): Promise<readonly ReadConfig[]> {
  const named = textOption(call, "config");
  if (named !== undefined) return checked([await readMcpConfig(named)], call, wanted);
  const { home } = loadConfig({ env: context.env, flags: { home: textOption(call, "home") } });
  const own = join(home, "mcp.json");
  const project = await findProject(own);
  if (project === undefined) return checked([await readMcpConfig(own)], call, wanted);
  const files = [await readOwn(own), await readProject(project, context)].flatMap((file) => file ?? []);
  checked(files, call, wanted);
  return approved(files, { project, wanted, approvals: new Approvals(join(home, "mcp-approvals")) }, context);
}

/** A server of these files. Rejects with its problem, if it has one. */
export function serverOf(files: readonly ReadConfig[], name: string): { readonly file: string; readonly config: ServerConfig } {
  for (const { file, config } of files) {
    const found = config.servers.find((server) => server.name === name);
    if (found?.problem) throw found.problem;
    if (found) return { file, config: found.config };
  }
  throw new BelljarError("USAGE", `There is no server "${name}"`);
}

/** Undefined where there is none, and where the project is the home itself. */
async function findProject(own: string): Promise<string | undefined> {
  const path = join(process.cwd(), PROJECT_FILE);
  const found = await ifPresent(path, realpath(path));
  return found === own || process.cwd() === homedir() ? undefined : found;
}

async function readOwn(own: string): Promise<ReadConfig | undefined> {
  return (await ifPresent(own, realpath(own))) === undefined ? undefined : readMcpConfig(own);
}

/** A file that cannot be read belongs to the project, and stops nothing. */
async function readProject(path: string, { stderr }: CommandContext): Promise<ReadConfig | undefined> {
  try {
    return await readMcpConfig(path);
  } catch (cause) {
    if (!(cause instanceof BelljarError)) throw cause;
    printProblems(stderr, [cause.message]);
    return undefined;
  }
}

function checked(files: readonly ReadConfig[], { spec }: CommandCall, wanted: string | undefined): readonly ReadConfig[] {
  const names = files.flatMap(({ config }) => config.servers.map(({ name }) => name));
  if (wanted === undefined || names.includes(wanted)) return files;
  const known = names.length === 0 ? "It names none" : `It names ${names.slice(0, NAMES_SHOWN).join(", ")}`;
  const where = files.map(({ file }) => file).join(" and ");
  throw usage(`${where} names no server "${wanted}"${didYouMean(wanted, names) || "."} ${known}`, `belljar ${spec.name} --help`);
}

interface Approving {
  readonly project: string;
  readonly wanted: string | undefined;
  readonly approvals: Approvals;
}

/** The person's own servers come first: a project cannot take the place of one. */
async function approved(files: readonly ReadConfig[], approving: Approving, context: CommandContext): Promise<readonly ReadConfig[]> {
  const { project, wanted } = approving;
  const own = files.filter(({ file }) => file !== project);
  const taken = new Set(own.flatMap(({ config }) => config.servers.map(({ name }) => name)));
  const result = [...own];
  for (const { file, config } of files.filter((one) => one.file === project)) {
    const asked = config.servers.filter(({ name }) => !taken.has(name) && (wanted === undefined || wanted === name));
    const servers: ConfiguredServer[] = [];
    for (const server of asked) if (await mayStart(server, approving, context)) servers.push(server);
    result.push({ file, config: { ...config, servers } });
  }
  return result;
}

async function mayStart(
  { name, config }: ConfiguredServer,
  { project, wanted, approvals }: Approving,
  context: CommandContext,
): Promise<boolean> {
  const { stdin, stderr } = context;
  // Nothing of these is started.
  if (!config || config.isDisabled || (await approvals.has(project, config))) return true;
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    const advice = `run this once in a terminal, or name the file: --config ${project}`;
    const problem = `The server "${name}" of the project's ${project} is not approved: ${advice}`;
    if (wanted !== undefined) throw new BelljarError("USAGE", problem);
    printProblems(stderr, [problem]);
    return false;
  }
  printLine(
    stderr,
    `The project's ${project} names the server "${name}", which you have not approved as it is now:\n${JSON.stringify(shownOf(config), null, 2)}`,
  );
  const yes = await withLines(context, undefined, async (ask) => (await askYesNo(ask, "Use it?")) === "y");
  if (yes) await approvals.add(project, config);
  else if (wanted !== undefined) throw new BelljarError("USAGE", `The server "${name}" of the project's ${project} is not approved`);
  return yes;
}

/** What a person agrees to. Values of variables and headers may hold keys, but they say where things go, so all is shown. */
function shownOf(config: ServerConfig): object {
  const { name: _name, expands: _expands, isDisabled: _disabled, ...shown } = config;
  return shown;
}
