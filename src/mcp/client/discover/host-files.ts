import { join } from "node:path";
import { isRecord } from "../config/is-record.ts";
import type { Settings, SettingsFormat } from "../config/parse-settings.ts";
import type { ServerTable } from "../config/read-config.ts";

/** Where the hosts of a person keep their files. */
export interface HostPlaces {
  /** The person's home folder. */
  readonly home: string;
  /** `$XDG_CONFIG_HOME`, or `.config` in the home. */
  readonly config: string;
  /** The folder of desktop applications: on macOS `Library/Application Support`, else `config`. */
  readonly applications: string;
  /** `$CODEX_HOME`, or `.codex` in the home. */
  readonly codex: string;
  /** The folder whose project files are listed too. */
  readonly project: string;
}

/** A table of servers in a host's file. */
export interface HostTable extends ServerTable {
  /** The project that the servers belong to, if the file of a person has some for each. */
  readonly project?: string | undefined;
  /** Servers that another part of the file switches off. */
  readonly disabled?: readonly string[];
}

export interface HostFile {
  readonly host: string;
  readonly scope: "user" | "project";
  readonly path: string;
  readonly format: SettingsFormat;
  tables(settings: Settings): readonly HostTable[];
}

type FileNames = (places: HostPlaces) => { readonly user: readonly string[]; readonly project: readonly string[] };

interface Host {
  readonly files: FileNames;
  readonly format?: SettingsFormat;
  readonly tables: HostFile["tables"];
}

const at =
  (...path: readonly string[]): HostFile["tables"] =>
  () => [{ path, expands: true }];

/** Every host, with the files in which its documentation has people write servers. */
const HOSTS: Readonly<Record<string, Host>> = {
  "claude-desktop": {
    files: ({ applications }) => ({ user: [join(applications, "Claude/claude_desktop_config.json")], project: [] }),
    tables: at("mcpServers"),
  },
  claude: {
    files: ({ home, project }) => ({ user: [join(home, ".claude.json")], project: [join(project, ".mcp.json")] }),
    tables: claudeTables,
  },
  cursor: {
    files: ({ home, project }) => ({ user: [join(home, ".cursor/mcp.json")], project: [join(project, ".cursor/mcp.json")] }),
    tables: at("mcpServers"),
  },
  vscode: {
    files: ({ applications, project }) => ({
      user: [join(applications, "Code/User/mcp.json"), join(applications, "Code/User/settings.json")],
      project: [join(project, ".vscode/mcp.json")],
    }),
    // Before it had a file of its own, VS Code read `mcp.servers` of its settings.
    tables: () => [
      { path: ["servers"], expands: true },
      { path: ["mcp", "servers"], expands: true },
    ],
  },
  windsurf: {
    files: ({ home }) => ({ user: [join(home, ".codeium/windsurf/mcp_config.json")], project: [] }),
    tables: at("mcpServers"),
  },
  codex: {
    files: ({ codex, project }) => ({ user: [join(codex, "config.toml")], project: [join(project, ".codex/config.toml")] }),
    format: "toml",
    tables: () => [{ path: ["mcp_servers"], expands: false }],
  },
  gemini: {
    files: ({ home, project }) => ({ user: [join(home, ".gemini/settings.json")], project: [join(project, ".gemini/settings.json")] }),
    tables: ({ value }) => [{ path: ["mcpServers"], expands: true, disabled: textsOf(recordOf(value["mcp"])["excluded"]) }],
  },
  opencode: {
    files: ({ config, project }) => ({
      user: [join(config, "opencode/opencode.json"), join(config, "opencode/opencode.jsonc")],
      project: [join(project, "opencode.json"), join(project, "opencode.jsonc")],
    }),
    tables: ({ value }) => [{ path: hasOwnTable(recordOf(value["mcp"])["servers"]) ? ["mcp", "servers"] : ["mcp"], expands: false }],
  },
  zed: {
    files: ({ config, project }) => ({ user: [join(config, "zed/settings.json")], project: [join(project, ".zed/settings.json")] }),
    tables: at("context_servers"),
  },
};

/** All files of all hosts, whether they exist or not, each once: the project may be the home. */
export function hostFiles(places: HostPlaces): readonly HostFile[] {
  return Object.entries(HOSTS).flatMap(([host, { files, format = "jsonc", tables }]) => {
    const { user, project } = files(places);
    const toFile = (path: string, scope: HostFile["scope"]): HostFile => ({ host, scope, path, format, tables });
    return [
      ...user.map((path) => toFile(path, "user")),
      ...project.filter((path) => !user.includes(path)).map((path) => toFile(path, "project")),
    ];
  });
}

/** Claude Code keeps a person's servers for all projects, and those for one project, in one file. */
function claudeTables({ value }: Settings): readonly HostTable[] {
  const projects = Object.entries(recordOf(value["projects"])).map(([project, settings]) => ({
    path: ["projects", project, "mcpServers"],
    expands: true,
    project,
    disabled: textsOf(recordOf(settings)["disabledMcpServers"]),
  }));
  return [{ path: ["mcpServers"], expands: true }, ...projects];
}

/** Version 2 of opencode has its servers a level deeper; in version 1 `servers` could only be the name of a server. */
function hasOwnTable(servers: unknown): boolean {
  return isRecord(servers) && typeof servers["type"] !== "string";
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}
