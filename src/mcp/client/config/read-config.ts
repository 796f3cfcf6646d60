import { z } from "zod";
import { BelljarError } from "../../../errors.ts";
import { isRecord } from "./is-record.ts";
import type { Settings } from "./parse-settings.ts";
import { parseSettings } from "./parse-settings.ts";
import { entryError, readEntry } from "./read-entry.ts";
import type { ConfigFile, ConfigInput, ConfiguredServer } from "./server-config.ts";

const SERVERS_MAX = 1000;
const NAME_MAX = 200;

/** The tables that the hosts keep their servers in. In all but that of Codex `${X}` stands for a variable. */
const TABLES = [
  { key: "mcpServers", expands: true },
  { key: "servers", expands: true },
  { key: "mcp_servers", expands: false },
] as const;

/** Where servers lie in a file. */
export interface ServerTable {
  readonly path: readonly string[];
  readonly expands: boolean;
}

/**
 * Reads the configuration of a host: `mcpServers`, `servers` of VS Code, or `mcp_servers` of Codex, whose files end in `.toml`. Throws
 * `CONFIG_INVALID` for a file that cannot be read. An entry that cannot be used has its problem.
 */
export function readConfigText(text: string, file: string): ConfigFile {
  const settings = parseSettings(text, file, file.endsWith(".toml") ? "toml" : "jsonc");
  const present = TABLES.filter(({ key }) => Object.hasOwn(settings.value, key));
  if (present.length === 0) {
    const expected = 'write them under mcpServers, as {"mcpServers": {"NAME": {"command": "...", "args": []}}}';
    throw new BelljarError("CONFIG_INVALID", `${file} names no servers: ${expected}`);
  }
  const servers = present.flatMap(({ key, expands }) => readServers(settings, file, { path: [key], expands }));
  return { servers: refuseTwins(servers, file), inputs: readInputs(settings.value["inputs"]) };
}

/** Reads the servers of one table. A table that is absent has none. */
export function readServers(settings: Settings, file: string, { path, expands }: ServerTable): readonly ConfiguredServer[] {
  const table = path.reduce<unknown>(
    (value, key) => (isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    settings.value,
  );
  if (table === undefined) return [];
  const where = path.join(".");
  if (settings.repeated(path.slice(0, -1)).has(path.at(-1) ?? "")) throw new BelljarError("CONFIG_INVALID", `${file} has ${where} twice`);
  if (!isRecord(table)) throw new BelljarError("CONFIG_INVALID", `${file}: ${where} must be an object of servers`);
  const names = Object.keys(table);
  if (names.length > SERVERS_MAX) throw new BelljarError("CONFIG_INVALID", `${file}: ${where} has over ${SERVERS_MAX} servers`);
  const twice = settings.repeated(path);
  return names.map((name) => {
    const place = { file, name, expands };
    if (twice.has(name)) return { name, problem: isTwin(file, name) };
    if (name === "" || name.length > NAME_MAX) return { name, problem: entryError(place, "", `a name has 1 to ${NAME_MAX} characters`) };
    return orProblem(name, () => readEntry(table[name], place));
  });
}

function orProblem(name: string, read: () => ReturnType<typeof readEntry>): ConfiguredServer {
  try {
    return { name, config: read() };
  } catch (problem) {
    if (problem instanceof BelljarError) return { name, problem };
    throw problem;
  }
}

function isTwin(file: string, name: string): BelljarError {
  return entryError({ file, name }, "", "the file has two servers of this name: rename one");
}

/** Servers of one name in two tables. */
function refuseTwins(servers: readonly ConfiguredServer[], file: string): readonly ConfiguredServer[] {
  const byName = new Map<string, ConfiguredServer>();
  for (const server of servers)
    byName.set(server.name, byName.has(server.name) ? { name: server.name, problem: isTwin(file, server.name) } : server);
  return [...byName.values()];
}

const inputSchema = z.looseObject({
  id: z.string().min(1),
  type: z.enum(["promptString", "pickString"]),
  description: z.string().default(""),
  default: z.string().optional(),
  password: z.boolean().default(false),
  options: z
    .array(z.union([z.string(), z.looseObject({ value: z.string() }).transform(({ value }) => value)]))
    .max(1000)
    .optional(),
});

/** One that is malformed, or of a type that runs a command, is left out: the server that uses it says so. */
function readInputs(value: unknown): readonly ConfigInput[] {
  const inputs = Array.isArray(value) ? (value as readonly unknown[]).slice(0, SERVERS_MAX) : [];
  return inputs.flatMap((input) => {
    const { data } = inputSchema.safeParse(input);
    if (!data) return [];
    const { id, description, password: isSecret, options, default: fallback } = data;
    return [{ id, description, isSecret, options, fallback }];
  });
}
