import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { acceptProcess } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import type { BackgroundProcess } from "./background-processes.ts";
import { findBackground, folderOf, signalBackground } from "./background-processes.ts";
import { PROCESS_FACTS, processArgument, processFacts } from "./process-facts.ts";
import { watchUntil } from "./watch-until.ts";

const SIGNALS = { SIGTERM: 15, SIGINT: 2, SIGHUP: 1, SIGKILL: 9 } as const;
const GRACE_MS = 5_000;
const KILL_WAIT_MS = 10_000;

export const processStop = defineDataTool({
  name: "process_stop",
  title: "Stop a background process",
  description: [
    "Stops a background process and its whole process group: SIGTERM (or the signal that is named), then SIGKILL when it still runs after grace_ms.",
    "Returns when it has ended, with its exit code. One that has ended already is no error. Its output can still be read.",
  ].join("\n"),
  toolset: "shell",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  listsOrEnds: true,
  accept: acceptProcess,
  input: z.strictObject({
    process_id: processArgument,
    signal: z.enum(["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"]).optional().describe("The first signal; default SIGTERM"),
    grace_ms: z.number().int().min(0).max(60_000).optional().describe("Between the first signal and SIGKILL; default 5000"),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  }),
  output: z.object({ ...PROCESS_FACTS, killed: z.boolean().describe("It had to be killed after the grace") }),
  async run(context, { process_id: id, signal: name = "SIGTERM", grace_ms: graceMs = GRACE_MS, sandbox: sandboxId }) {
    const sandbox = await context.sandbox(sandboxId);
    const end = (number: number, timeoutMs: number) => signalAndWait(sandbox, { id, number, timeoutMs, signal: context.signal });
    let process = await end(SIGNALS[name], graceMs);
    const killed = process.state === "running";
    if (killed) process = await end(SIGNALS.SIGKILL, KILL_WAIT_MS);
    if (process.state === "running") throw new BelljarError("EXEC_TIMEOUT", `The background process "${id}" did not end; end its sandbox`);
    const facts = { ...processFacts(process), killed };
    return dataResult(facts);
  },
});

interface Stop {
  readonly id: string;
  readonly number: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

async function signalAndWait(sandbox: Sandbox, { id, number, timeoutMs, signal }: Stop): Promise<BackgroundProcess> {
  const process = await findBackground(sandbox, id, signal);
  if (process.state !== "running") return process;
  await signalBackground(sandbox, process, number, signal);
  return watchUntil(sandbox, { folder: folderOf(id), timeoutMs, signal }, async () => {
    const value = await findBackground(sandbox, id, signal);
    return { value, isDone: value.state !== "running" };
  });
}
