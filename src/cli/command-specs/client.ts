import type { CommandSpec } from "../command.ts";
import { JSON_OPTION, NONE } from "./shared-options.ts";

/** `belljar client ...`: a client of any MCP server. */
export const CLIENT: readonly CommandSpec[] = [
  {
    name: "client discover",
    summary: "List the MCP servers that other hosts of yours have, and start none",
    usage: "",
    positionals: NONE,
    options: { json: JSON_OPTION },
    details:
      "Reads the files of Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Codex, Gemini CLI, opencode and Zed, and those of a project in the current folder. Of variables and headers it shows the names.",
    load: () => import("../commands/client-discover.ts"),
  },
];
