import type { Tool } from "../../catalog/tool.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import type { ToolLimits } from "../tool-limits.ts";
import { sandboxCheckpoint } from "./sandbox-checkpoint.ts";
import { createSandboxCreate } from "./sandbox-create.ts";
import { sandboxDiff } from "./sandbox-diff.ts";
import { createSandboxExec } from "./sandbox-exec.ts";
import { createSandboxFork } from "./sandbox-fork.ts";
import { sandboxKill } from "./sandbox-kill.ts";
import { createSandboxList } from "./sandbox-list.ts";
import { sandboxLog } from "./sandbox-log.ts";
import { sandboxMerge } from "./sandbox-merge.ts";
import { sandboxNetwork } from "./sandbox-network.ts";
import { sandboxReadFile } from "./sandbox-read-file.ts";
import { sandboxRollback } from "./sandbox-rollback.ts";
import { createSandboxRunCode } from "./sandbox-run-code.ts";
import { sandboxTool } from "./sandbox.ts";
import { createSandboxSnapshot } from "./sandbox-snapshot.ts";
import { createSandboxSnapshots } from "./sandbox-snapshots.ts";
import { sandboxWriteFile } from "./sandbox-write-file.ts";

/** Sandboxes as things to make, list and end, for callers that work with several. */
export function sandboxTools(sandboxes: Pick<Sandboxes, "create" | "list" | "snapshots">, config: ToolLimits): readonly Tool[] {
  return [
    sandboxTool,
    createSandboxCreate(sandboxes),
    createSandboxExec(config),
    sandboxReadFile,
    sandboxWriteFile,
    createSandboxRunCode(config),
    sandboxCheckpoint,
    sandboxDiff,
    sandboxRollback,
    sandboxLog,
    createSandboxSnapshot(sandboxes),
    createSandboxSnapshots(sandboxes),
    createSandboxFork(sandboxes),
    sandboxMerge,
    sandboxNetwork,
    sandboxKill,
    createSandboxList(sandboxes),
  ];
}
