import * as z from "zod";
import { defineTool } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { findUsedUp, tellUsedUp, type UsedUp } from "../../sandbox/used-up.ts";
import { closeLine, factLine } from "../output-text.ts";
import { acceptProcess } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import { rawArgument, SHOWN_BYTES, SHOWN_MAX_BYTES } from "../max-bytes.ts";
import { plainText, tellLeftOut } from "../plain-text.ts";
import { readOutput } from "./background-output.ts";
import { type BackgroundProcess, folderOf } from "./background-processes.ts";
import { PROCESS_FACTS, processArgument, processFacts } from "./process-facts.ts";
import { watchUntil } from "./watch-until.ts";

const WAIT_MAX_MS = 60_000;
/** What a shell answers whose command was ended by SIGKILL. */
const KILLED = 137;
/** A character that is cut at the end must fit. */
const BYTES_MIN = 16;

const Output = z.object({
  ...PROCESS_FACTS,
  output: z.string().describe("stdout and stderr as one, in the order in which they came"),
  offset: z.number().int().describe("Where this output begins, in bytes"),
  next_offset: z.number().int().describe("Give it as offset to go on"),
  total_bytes: z.number().int().describe("Printed in all"),
  lost_bytes: z.number().int().describe("Bytes after the offset that was asked for that are not kept any more"),
});

export const processOutput = defineTool({
  name: "process_output",
  title: "Read a background process's output",
  description: [
    "Returns what a background process printed, from a byte offset on, with its state and exit code. Without offset the newest output comes back.",
    "To follow it, give next_offset as the next call's offset. With wait_ms the call waits until there is new output at the offset",
    "or the process has ended, and returns without when the time is up.",
  ].join("\n"),
  toolset: "shell",
  tellsRefusals: true,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  accept: acceptProcess,
  input: z.strictObject({
    process_id: processArgument,
    offset: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional().describe("Where to begin, in bytes. Absent: the newest output"),
    max_bytes: z.number().int().min(BYTES_MIN).max(SHOWN_MAX_BYTES).optional().describe(`Default ${SHOWN_BYTES}`),
    raw: rawArgument(),
    wait_ms: z.number().int().min(0).max(WAIT_MAX_MS).optional().describe("Wait so long for new output or the end; default 0"),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  }),
  value: Output,
  async run(
    context,
    { process_id: id, offset, max_bytes: maxBytes = SHOWN_BYTES, raw = false, wait_ms: timeoutMs = 0, sandbox: sandboxId },
  ) {
    const sandbox = await context.sandbox(sandboxId);
    const { signal } = context;
    const slice = await watchUntil(sandbox, { folder: folderOf(id), timeoutMs, signal }, async () => {
      const value = await readOutput(sandbox, { id, offset, maxBytes, signal });
      return { value, isDone: value.text !== "" || value.process.state !== "running" };
    });
    const usedUp = await usedUpBy(sandbox, slice.process);
    const plain = raw ? { text: slice.text } : plainText(slice.text, slice.nextOffset - slice.offset);
    const { output, ...facts } = {
      ...processFacts(slice.process),
      output: plain.text,
      offset: slice.offset,
      next_offset: slice.nextOffset,
      total_bytes: slice.total,
      lost_bytes: Math.max(0, slice.offset - (offset ?? slice.offset)),
    };
    const notes = [...tellUsedUp(usedUp), ...tellLeftOut([plain], true)];
    const line = factLine({ ...facts, lost_bytes: facts.lost_bytes || null }, ...notes);
    return textResult({ ...facts, output }, `${closeLine(output)}${line}`);
  },
});

/**
 * Nobody counted when the process began. So of a process that was killed, and of no other, any kill for memory in this run is told. On a full disk
 * a process is lost, because its exit code cannot be kept.
 */
async function usedUpBy(sandbox: Sandbox, { state, exitCode }: BackgroundProcess): Promise<UsedUp | undefined> {
  if (state === "running") return undefined;
  return findUsedUp(sandbox, { exitCode, timedOut: false }, exitCode === KILLED ? 0 : undefined);
}
