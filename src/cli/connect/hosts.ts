import { homedir, platform } from "node:os";
import { join } from "node:path";
import type { Placement } from "./placement.ts";
import { placeInJson } from "./json-settings.ts";
import { placeInToml } from "./toml-settings.ts";

/** How a host starts `belljar mcp`. */
export interface StdioServer {
  readonly command: string;
  readonly args: readonly string[];
}

/** A host whose configuration file we know. */
export interface McpHost {
  readonly title: string;
  /** The file, for a project in `folder`. */
  file(folder: string): string;
  /** Throws `CONFIG_INVALID` for a file that cannot be read as what it should be. `text` is empty for one that is not there. */
  place(text: string, name: string, server: StdioServer): Placement;
  /** What a person does next. */
  readonly next: string;
}

const IN_MCP_SERVERS = (text: string, name: string, server: StdioServer): Placement =>
  placeInJson(text, ["mcpServers", name], { ...server });

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
    place: (text, name, server) => placeInJson(text, ["servers", name], { type: "stdio", ...server }),
    next: "Open this folder in VS Code and start the server with the button in .vscode/mcp.json",
  },
  codex: {
    title: "Codex",
    file: () => join(homedir(), ".codex/config.toml"),
    place: (text, name, server) => placeInToml(text, ["mcp_servers", name], { ...server }),
    next: "Start codex again",
  },
};

function applicationSettings(): string {
  if (platform() === "darwin") return join(homedir(), "Library/Application Support");
  return process.env["XDG_CONFIG_HOME"] ?? join(homedir(), ".config");
}
