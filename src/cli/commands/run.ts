import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { once } from "node:events";
import { Readable } from "node:stream";
import type { Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { BelljarError } from "../../errors.ts";
import { languageOfFile } from "../../interpreter/language.ts";
import type { Program, ProgramResult } from "../../interpreter/program.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption, textOptions } from "../command.ts";
import { openInterpreter, openStack, workspaceOption } from "../compose/open-stack.ts";
import type { Stack } from "../compose/open-stack.ts";
import { configuredPolicy } from "../compose/configured-policy.ts";
import { toExitCode } from "../exit-code.ts";
import { usage } from "../usage.ts";
import { printJson } from "../print.ts";
import { parseDuration, parsePairs } from "../values.ts";

const HELP = "belljar run --help";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const program = await readProgram(call, context);
  const timeout = textOption(call, "timeout");
  const timeoutMs = timeout === undefined ? undefined : parseDuration("timeout", timeout);
  await using stack = await openStack(call, context);
  await using place = await openWorkspacePlace(call, context, stack);
  await using interpreter = await openInterpreter(stack);
  const json = isSet(call, "json");
  const result = await interpreter.runProgram(LOCAL, program, {
    signal: context.signal,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(place.sandbox && { sandbox: place.sandbox }),
    ...(!json && { onOutput: (stream: "stdout" | "stderr", chunk: Buffer) => writeAll(context[stream], chunk, context.signal) }),
  });
  if (json) printJson(context.stdout, toJson(result));
  else if (result.outOfMemory) context.stderr.write("belljar: The program was killed because its memory was used up\n");
  return exitCodeOf(result, json);
}

async function readProgram(call: CommandCall, { env, stdin }: CommandContext): Promise<Program> {
  const file = call.positionals[0] ?? "";
  const named = textOption(call, "lang");
  const language = named ?? languageOfFile(file)?.name;
  if (language === undefined) throw usage(`The language of "${file}" is not known: name it with --lang`, HELP);
  const fromStdin = file === "-";
  const code = fromStdin ? await readText(stdin) : await readProgramFile(file);
  const isOwnName = !fromStdin && languageOfFile(file) !== undefined && named === undefined;
  return {
    language,
    code,
    args: call.rest,
    env: parsePairs("env", textOptions(call, "env"), env),
    ...(isOwnName && { entryFile: basename(file) }),
    stdin: fromStdin ? Readable.from([]) : stdin,
  };
}

/** Writes a chunk, and waits while the reader of the output is slow. */
async function writeAll(to: Writable, chunk: Buffer, signal: AbortSignal): Promise<void> {
  if (!to.write(chunk)) await once(to, "drain", { signal });
}

async function readText(stdin: Readable): Promise<string> {
  return (await buffer(stdin)).toString("utf8");
}

async function readProgramFile(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    const why = { ENOENT: "there is no such file", EISDIR: "it is a folder", EACCES: "it may not be read" }[
      (cause as NodeJS.ErrnoException).code ?? ""
    ];
    throw new BelljarError("FILE_NOT_FOUND", `Cannot read "${file}": ${why ?? "check the path"}`, { cause });
  }
}

/** With a workspace, creates a fresh sandbox that sees it. The sandbox is killed at the end. */
async function openWorkspacePlace(
  call: CommandCall,
  { signal }: CommandContext,
  stack: Stack,
): Promise<AsyncDisposable & { readonly sandbox?: Sandbox }> {
  const workspace = textOption(call, "workspace") === undefined ? undefined : await workspaceOption(stack.config);
  if (!workspace) return { [Symbol.asyncDispose]: async () => {} };
  const { timeoutMs: _timeout, network: _network, ...limits } = stack.config.program;
  const network = await configuredPolicy(stack.config, "program");
  const sandbox = await stack.sandboxes.create(LOCAL, { workspace, limits, network, bestEffort: true, ephemeral: true }, signal);
  return { sandbox, [Symbol.asyncDispose]: () => sandbox.kill() };
}

function exitCodeOf(result: ProgramResult, json: boolean): number {
  if (result.status === "timeout") {
    if (json) return 125;
    throw new BelljarError("EXEC_TIMEOUT", `The program was stopped after ${Math.round(result.durationMs)} ms; --timeout gives it longer`);
  }
  return toExitCode(result);
}

/** The same keys as the result of `execute_code`. */
function toJson(result: ProgramResult) {
  return {
    status: result.status,
    stdout: result.stdout,
    stderr: result.stderr,
    exit_code: result.exitCode ?? null,
    signal: result.signal ?? null,
    duration_ms: Math.round(result.durationMs),
    truncated: result.truncated,
    out_of_memory: result.outOfMemory,
    phase: result.phase,
  };
}
