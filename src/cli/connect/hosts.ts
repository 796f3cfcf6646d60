import { homedir, platform } from "node:os";
import { join } from "node:path";
import type { Placement } from "./place-in-settings.ts";
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
  /** Adds the server to the file's text. `text` is empty for a missing file. Throws `CONFIG_INVALID` if the text is malformed. */
  place(text: string, name: string, server: StdioServer): Placement;
  /** Advice on the next step. */
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
