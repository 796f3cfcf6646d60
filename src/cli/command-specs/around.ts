import type { CommandSpec } from "../command.ts";
import { JSON_OPTION, ONE, WORKSPACE } from "./shared-options.ts";

/** What works on files, hosts and rules. */
export const AROUND: readonly CommandSpec[] = [
  {
    name: "network sets",
    summary: "Show the named sets of rules, and why each rule is in them",
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
    load: () => import("../commands/cp.ts"),
  },
  {
    name: "connect",
    summary: "Tell a host of this workspace: claude, claude-desktop, cursor, vscode or codex",
    usage: "HOST",
    positionals: ONE,
    options: {
      workspace: WORKSPACE,
      gateway: { type: "string", value: "URL", description: "Connect it to that server instead (BELLJAR_URL)" },
      name: { type: "string", value: "NAME", description: "What the host calls the server (default belljar)" },
      print: { type: "boolean", description: "Print what belongs into the host's file, and change nothing" },
    },
    load: () => import("../commands/connect.ts"),
  },
];
