import { BelljarError } from "../../../../errors.ts";
import type { EnvdProcess } from "./envd-process.ts";
import type { Input } from "./messages.ts";

/** Resolves once the sandbox has it, which then waits for the process. */
export async function giveInput(process: EnvdProcess, { stdin, pty }: Input, signal: AbortSignal): Promise<void> {
  const text = stdin ?? pty;
  if (text === undefined) throw new BelljarError("ARGUMENTS_INVALID", "The input is neither for stdin nor for a terminal");
  await process.write(Buffer.from(text, "base64"), stdin === undefined ? "pty" : "stdin", signal);
}
