import * as z from "zod";
import { defineDataTool } from "../../catalog/tool.ts";
import { dataResult } from "../../catalog/tool-result.ts";
import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { acceptProcess } from "../other-names.ts";
import { DEFAULT_SANDBOX, sandboxArgument } from "../sandbox-argument.ts";
import type { BackgroundProcess } from "./background-processes.ts";
import { closeInput, findBackground, folderOf } from "./background-processes.ts";
import { processArgument } from "./process-facts.ts";

/** What a pipe holds: only a process that does not read makes a writer wait. */
const INPUT_MAX_BYTES = 65_536;
const TIMEOUT_MS = 2_000;

export const processInput = defineDataTool({
  name: "process_input",
  title: "Write to a background process",
  description: [
    "Writes text to the standard input of a background process. Nothing is added: end a line with a newline where the program reads lines.",
    "With close its input ends after the text, as Ctrl-D would end it, and no more can be written. What it answers is read with process_output.",
  ].join("\n"),
  toolset: "shell",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  accept: acceptProcess,
  input: z.strictObject({
    process_id: processArgument,
    text: z
      .string()
      .refine((text) => Buffer.byteLength(text) <= INPUT_MAX_BYTES, `must have at most ${INPUT_MAX_BYTES} bytes`)
      .optional()
      .describe("What to write"),
    close: z.boolean().optional().describe("End the input afterwards; default false"),
    sandbox: sandboxArgument(DEFAULT_SANDBOX),
  }),
  output: z.object({ process_id: z.string(), bytes_written: z.number().int(), closed: z.boolean() }),
  async run(context, { process_id: id, text = "", close = false, sandbox: sandboxId }) {
    const sandbox = await context.sandbox(sandboxId);
    const process = await findBackground(sandbox, id, context.signal);
    assertOpen(process);
    if (text !== "") await write(sandbox, process, text, context.signal);
    if (close) await closeInput(sandbox, process, context.signal);
    const written = { process_id: id, bytes_written: Buffer.byteLength(text), closed: close };
    return dataResult(written);
  },
});

function assertOpen({ id, state, inputIsOpen }: BackgroundProcess): void {
  if (state !== "running") throw new BelljarError("PROCESS_NOT_FOUND", `The background process "${id}" has ended; nobody reads its input`);
  if (!inputIsOpen) throw new BelljarError("ARGUMENTS_INVALID", `The input of the background process "${id}" was closed before`);
}

async function write(sandbox: Sandbox, { id }: BackgroundProcess, input: string, signal: AbortSignal): Promise<void> {
  // `-p`: closing removes the pipe, and a file must not be made in its place.
  const argv = ["sh", "-c", "[ -p in ] && exec cat >in"];
  const { exitCode, timedOut } = await sandbox.guest.run({ argv, cwd: folderOf(id), input, timeoutMs: TIMEOUT_MS, signal });
  if (exitCode === 0) return;
  const reason = timedOut ? "does not read its input: part of the text may wait there" : "has ended or closed its input";
  throw new BelljarError(timedOut ? "EXEC_TIMEOUT" : "PROCESS_NOT_FOUND", `The background process "${id}" ${reason}`);
}
