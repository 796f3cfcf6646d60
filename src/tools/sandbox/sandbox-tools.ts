import type { Tool } from "../../catalog/tool.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import type { ToolLimits } from "../tool-limits.ts";
import { createSandboxCreate } from "./sandbox-create.ts";
import { createSandboxExec } from "./sandbox-exec.ts";
import { sandboxFork } from "./sandbox-fork.ts";
import { sandboxKill } from "./sandbox-kill.ts";
import { createSandboxList } from "./sandbox-list.ts";
import { sandboxNetwork } from "./sandbox-network.ts";
import { sandboxReadFile } from "./sandbox-read-file.ts";
import { createSandboxRunCode } from "./sandbox-run-code.ts";
import { sandboxTool } from "./sandbox.ts";
import { sandboxSnapshot } from "./sandbox-snapshot.ts";
import { sandboxWriteFile } from "./sandbox-write-file.ts";

/** Sandboxes as things to make, list and end, for callers that work with several. */
export function sandboxTools(sandboxes: Pick<Sandboxes, "create" | "list">, config: ToolLimits): readonly Tool[] {
  return [
    sandboxTool,
    createSandboxCreate(sandboxes),
    createSandboxExec(config),
    sandboxReadFile,
    sandboxWriteFile,
    createSandboxRunCode(config),
    sandboxSnapshot,
    sandboxFork,
    sandboxNetwork,
    sandboxKill,
    createSandboxList(sandboxes),
  ];
}
