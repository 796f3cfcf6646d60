import type { CommandSpec } from "../command.ts";
import { JSON_OPTION, NETWORK, ONE, TOOLSETS, WORKSPACE } from "./shared-options.ts";

/** Commands for files, hosts and rules. */
export const AROUND: readonly CommandSpec[] = [
  {
    name: "network sets",
    summary: "Show the named sets of rules, with the reason for each rule",
    usage: "[NAME]",
    positionals: { min: 0, max: 1 },
    options: { json: JSON_OPTION },
    load: () => import("../commands/network-sets.ts"),
  },
  {
    name: "cp",
    summary: "Copy files into or out of a sandbox",
    usage: "SRC ID:DST | ID:SRC DST",
    positionals: { min: 2, max: 2 },
    options: {},
    details:
      "With - for SRC a tar archive is read from stdin and unpacked in the folder DST; with - for DST one of SRC is written to stdout. " +
      "A path of this machine with a colon is written as ./a:b.",
    load: () => import("../commands/cp.ts"),
  },
  {
    name: "connect",
    summary: "Add Belljar to a host's configuration: claude, claude-desktop, cursor, vscode, codex, gemini, opencode, zed or windsurf",
    usage: "HOST",
    positionals: ONE,
    choices: ["claude", "claude-desktop", "cursor", "vscode", "codex", "gemini", "opencode", "zed", "windsurf"],
    options: {
      workspace: WORKSPACE,
      gateway: { type: "string", value: "URL", description: "Connect the host to that server instead (BELLJAR_URL)" },
      name: { type: "string", value: "NAME", description: "Name of the server in the host (default belljar)" },
      network: NETWORK,
      toolsets: TOOLSETS,
      force: { type: "boolean", description: "Replace a different entry of that name" },
      print: { type: "boolean", description: "Print the entry for the host's file, and change nothing" },
    },
    load: () => import("../commands/connect.ts"),
  },
];
