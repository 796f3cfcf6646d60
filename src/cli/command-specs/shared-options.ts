import type { OptionSpec } from "../command.ts";
import { INSIDE } from "../../protocol/inside.ts";

export const JSON_OPTION: OptionSpec = { type: "boolean", description: "Print JSON" };
export const WORKSPACE: OptionSpec = {
  type: "string",
  value: "DIR[:copy|:ro|:rw]",
  description: `Host folder that the sandbox sees at the same path, or at ${INSIDE.workspace}`,
};
export const NETWORK: OptionSpec = {
  type: "string",
  value: "POLICY",
  description: "Network policy: none (default), all, or rules such as npm,github,api.example.com[:port]",
};
export const SECRET_USE: OptionSpec = {
  type: "string",
  multiple: true,
  value: "VARIABLE=NAME@HOST[+HOST...]",
  description: "Variable that stands for a secret, whose value is sent only to these hosts; may be repeated",
};
export const SNIPPETS: OptionSpec = { type: "string", value: "DIR", description: "Folder with the snippets that execute_code can name" };
export const TOOLS_FOLDER: OptionSpec = {
  type: "string",
  value: "DIR",
  description: "Folder with tools of yours, read whenever it changes",
};
export const TOOLSETS: OptionSpec = {
  type: "string",
  value: "NAMES",
  description: "Toolsets to serve: files,shell,search,code ...; all serves and lists every tool",
};
export const MCP_CONFIG: OptionSpec = {
  type: "string",
  value: "FILE",
  description: "Serve the tools of the MCP servers in FILE too, each in a sandbox of its own",
};
export const READ_ONLY: OptionSpec = { type: "boolean", description: "Serve only tools that read" };
export const ENV: OptionSpec = {
  type: "string",
  multiple: true,
  short: "e",
  value: "NAME[=VALUE]",
  description: "Environment variable; may be repeated",
};
export const COMMAND_TIMEOUT: OptionSpec = { type: "string", value: "TIME", description: "Maximum run time: 500ms, 30s, 5m, 1h" };
export const USER: OptionSpec = { type: "string", short: "u", value: "NAME", description: "user (default) or root" };
export const CWD: OptionSpec = {
  type: "string",
  short: "w",
  value: "DIR",
  description: `Folder that it starts in (default the workspace, else ${INSIDE.userHome})`,
};

/** No positional arguments. */
export const NONE = { min: 0, max: 0 };
export const ONE = { min: 1, max: 1 };
