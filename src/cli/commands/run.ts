import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { once } from "node:events";
import { Readable } from "node:stream";
import type { Writable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { BelljarError } from "../../errors.ts";
import { configureLanguages } from "../../interpreter/configured-languages.ts";
import { findLanguage, type Language, languageOfFile } from "../../interpreter/language.ts";
import type { Program, ProgramResult } from "../../interpreter/program.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { USED_UP } from "../../sandbox/used-up.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption, textOptions } from "../command.ts";
import { openInterpreter, openStack, readConfig } from "../compose/open-stack.ts";
import { toExitCode } from "../exit-code.ts";
import { openRunSandbox } from "../run-sandbox.ts";
import { usage } from "../usage.ts";
import { printJson, printProblems } from "../print.ts";
import { parseDuration, parsePairs } from "../values.ts";

const HELP = "belljar run --help";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const languages = configureLanguages(readConfig(call, context).languages);
  const program = await readProgram(call, context, languages);
  const timeout = textOption(call, "timeout");
  const timeoutMs = timeout === undefined ? undefined : parseDuration("timeout", timeout);
  await using stack = await openStack(call, context);
  const file = call.positionals[0] === "-" ? undefined : call.positionals[0];
  const language = findLanguage(program.language, languages);
  await using own = await openRunSandbox(call, context, { stack, language, file });
  // Answering a closed network takes longer than a short program.
  const tellsRefusals = stack.config.program.network !== "none";
  using refusals = tellsRefusals ? await own?.sandbox.watchRefusals() : undefined;
  await using interpreter = await openInterpreter(stack);
  const json = isSet(call, "json");
  const placed = own?.entryFile === undefined ? program : { ...program, entryFile: own.entryFile };
  const result = await interpreter.runProgram(LOCAL, placed, {
    signal: context.signal,
    tellsRefusals,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(own && { sandbox: own.sandbox, ...(own.place && { place: own.place }) }),
    ...(!json && { onOutput: (stream: "stdout" | "stderr", chunk: Buffer) => writeAll(context[stream], chunk, context.signal) }),
  });
  printProblems(context.stderr, [...result.refused, ...((await refusals?.tell()) ?? [])]);
  // What the program said is told, whatever becomes of its files.
  if (json) printJson(context.stdout, toJson(result));
  else if (result.outOfMemory) context.stderr.write(`belljar: The program failed, and ${USED_UP.memory}\n`);
  else if (result.diskFull) context.stderr.write(`belljar: The program failed, and ${USED_UP.disk}\n`);
  await own?.bringBack();
  return exitCodeOf(result, json);
}

async function readProgram(call: CommandCall, { env, stdin }: CommandContext, languages: readonly Language[]): Promise<Program> {
  const file = call.positionals[0] ?? "";
  const named = textOption(call, "lang");
  const language = named ?? languageOfFile(file, languages)?.name;
  if (language === undefined) throw usage(`The language of "${file}" is not known: name it with --lang`, HELP);
  const fromStdin = file === "-";
  const code = fromStdin ? await readText(stdin) : await readProgramFile(file);
  const isOwnName = !fromStdin && languageOfFile(file, languages) !== undefined && named === undefined;
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
    disk_full: result.diskFull,
    phase: result.phase,
  };
}
