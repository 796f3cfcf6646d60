import { homedir, platform } from "node:os";
import { join } from "node:path";
import type { Placement, PlaceOptions } from "./place-in-settings.ts";
import { placeInJson } from "./place-in-settings.ts";
import { placeInToml } from "./place-in-settings.ts";

/** The command with which a host starts `belljar mcp`. */
export interface StdioServer {
  readonly command: string;
  readonly args: readonly string[];
}

/** A host with a known configuration file. */
export interface McpHost {
  readonly title: string;
  /** Returns the path of the file, for a project in `folder`. */
  file(folder: string): string;
  /**
   * Adds the server to the file's text. `text` is empty for a missing file. Throws `CONFIG_INVALID` if the text is malformed, or has a
   * different server of that name and `force` is not set.
   */
  place(text: string, name: string, server: StdioServer, options?: PlaceOptions): Placement;
  /** Advice on the next step. */
  readonly next: string;
}

const IN_MCP_SERVERS: McpHost["place"] = (text, name, server, options) => placeInJson(text, ["mcpServers", name], { ...server }, options);

export const HOSTS: Readonly<Record<string, McpHost>> = {
  claude: {
    title: "Claude Code",
    file: (folder) => join(folder, ".mcp.json"),
    place: IN_MCP_SERVERS,
    next: "Start claude in this folder and allow the server when it asks",
  },
  "claude-desktop": {
    title: "Claude Desktop",
    file: () => join(applicationSettings(), "Claude/claude_desktop_config.json"),
    place: IN_MCP_SERVERS,
    next: "Quit Claude Desktop and start it again",
  },
  cursor: {
    title: "Cursor",
    file: (folder) => join(folder, ".cursor/mcp.json"),
    place: IN_MCP_SERVERS,
    next: "Open this folder in Cursor and switch the server on in its MCP settings",
  },
  vscode: {
    title: "VS Code",
    file: (folder) => join(folder, ".vscode/mcp.json"),
    place: (text, name, server, options) => placeInJson(text, ["servers", name], { type: "stdio", ...server }, options),
    next: "Open this folder in VS Code and start the server with the button in .vscode/mcp.json",
  },
  codex: {
    title: "Codex",
    file: () => join(homedir(), ".codex/config.toml"),
    place: (text, name, server, options) => placeInToml(text, ["mcp_servers", name], { ...server }, options),
    next: "Start codex again",
  },
  gemini: {
    title: "Gemini CLI",
    file: (folder) => join(folder, ".gemini/settings.json"),
    place: IN_MCP_SERVERS,
    next: "Start gemini in this folder",
  },
  opencode: {
    title: "opencode",
    file: (folder) => join(folder, "opencode.json"),
    place: (text, name, { command, args }, options) =>
      placeInJson(text, ["mcp", name], { type: "local", command: [command, ...args], enabled: true }, options),
    next: "Start opencode in this folder",
  },
  zed: {
    title: "Zed",
    file: () => join(settingsFolder(), "zed/settings.json"),
    place: (text, name, server, options) => placeInJson(text, ["context_servers", name], { source: "custom", ...server, env: {} }, options),
    next: "Open the settings of Zed's agent: the server is listed there",
  },
  windsurf: {
    title: "Windsurf",
    file: () => join(homedir(), ".codeium/windsurf/mcp_config.json"),
    place: IN_MCP_SERVERS,
    next: "Refresh the servers in Windsurf's MCP settings",
  },
};

function applicationSettings(): string {
  return platform() === "darwin" ? join(homedir(), "Library/Application Support") : settingsFolder();
}

function settingsFolder(): string {
  return process.env["XDG_CONFIG_HOME"] ?? join(homedir(), ".config");
}
