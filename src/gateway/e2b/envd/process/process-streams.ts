import { BelljarError } from "../../../../errors.ts";
import type { Sandbox } from "../../../../sandbox/sandbox.ts";
import type { GatewayLog } from "../../../gateway-log.ts";
import type { Route } from "../../../routes/route.ts";
import type { StreamCall } from "../connect/define-stream.ts";
import { defineClientStream, defineStream } from "../connect/define-stream.ts";
import { callingUser, userUnknown } from "../calling-user.ts";
import { toEndEvent } from "./end-event.ts";
import type { EnvdProcess, Listening } from "./envd-process.ts";
import { giveInput } from "./give-input.ts";
import type { ProcessEvent, StartRequest } from "./messages.ts";
import { connectRequest, empty, processEvent, startRequest, streamRequest } from "./messages.ts";
import { toNote } from "./process-note.ts";
import { resolveFor } from "./resolve-for.ts";
import type { Launch, ProcessTable, Started } from "./process-table.ts";

/** What the streams stand on. */
export interface ProcessPlace {
  readonly sandboxOf: (request: object) => Sandbox;
  readonly tableOf: (request: object) => ProcessTable;
  readonly log: GatewayLog;
}

const keepalive: ProcessEvent = { event: { keepalive: {} } };
/** What a client asks of an answer that never comes is bounded by the guest. */
const NEVER = new AbortController().signal;

export function processStreams({ sandboxOf, tableOf, log }: ProcessPlace): readonly Route[] {
  return [
    defineStream(
      {
        path: "/process.Process/Start",
        summary: "Starts a process, which lives on when its client goes, and tells what it prints and how it ends",
        input: startRequest,
        event: processEvent,
        keepalive,
        async *events(call) {
          const { request } = call.asked;
          const { process, listening } = await start(call, sandboxOf(request), tableOf(request));
          yield* tell(process, listening, call.signal);
        },
      },
      log,
    ),
    defineStream(
      {
        path: "/process.Process/Connect",
        summary: "Tells from now on what a process prints and how it ends",
        input: connectRequest,
        event: processEvent,
        keepalive,
        async *events({ asked, input, signal }) {
          const process = await tableOf(asked.request).find(input.process, signal);
          yield* tell(process, await process.connect(signal), signal);
        },
      },
      log,
    ),
    defineClientStream(
      {
        path: "/process.Process/StreamInput",
        summary: "Writes to a process as its client does",
        input: streamRequest,
        output: empty,
        async handle(messages, { request, signal }) {
          let process: EnvdProcess | undefined;
          for await (const { start: begin, data } of messages) {
            if (begin) process = await tableOf(request).find(begin.process, signal);
            if (data && !process) throw new BelljarError("ARGUMENTS_INVALID", "The first message names the process");
            if (data && process) await giveInput(process, data.input, signal);
          }
          return {};
        },
      },
      log,
    ),
  ];
}

async function start({ asked, input, timeoutMs }: StreamCall<StartRequest>, sandbox: Sandbox, table: ProcessTable): Promise<Started> {
  const user = callingUser(asked.request);
  const launch = toLaunch({ input, user, timeoutMs, sandbox, defaults: await ownVariables(sandbox) });
  try {
    return await table.start(launch, NEVER);
  } catch (error) {
    throw explain(error, launch);
  }
}

interface Wish {
  readonly input: StartRequest;
  readonly user: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly sandbox: Sandbox;
  readonly defaults: Readonly<Record<string, string>>;
}

function toLaunch({ input, user, timeoutMs, sandbox, defaults }: Wish): Launch {
  const { process, pty, stdin } = input;
  if (process.cmd === "") throw new BelljarError("ARGUMENTS_INVALID", "The command is empty; name a program");
  return {
    note: toNote(input),
    argv: [process.cmd, ...process.args],
    env: { ...defaults, ...process.envs },
    cwd: resolveFor(user, process.cwd, sandbox),
    user,
    stdin,
    terminal: pty && { rows: pty.size?.rows ?? 0, cols: pty.size?.cols ?? 0 },
    timeoutMs: timeoutMs === 0 ? undefined : timeoutMs,
  };
}

/** By which programs tell where they are. What the sandbox was made with goes before. */
async function ownVariables(sandbox: Sandbox): Promise<Readonly<Record<string, string>>> {
  const given = await sandbox.environment();
  return Object.fromEntries(Object.entries(sandboxVariables(sandbox)).filter(([name]) => given[name] === undefined));
}

export function sandboxVariables({ id }: Pick<Sandbox, "id">): Readonly<Record<string, string>> {
  return { E2B_SANDBOX: "true", E2B_SANDBOX_ID: id };
}

/** In E2B's words, where clients read them. */
function explain(error: unknown, { cwd, user }: Launch): unknown {
  const code = error instanceof BelljarError ? error.code : undefined;
  if (code === "USER_UNKNOWN") return userUnknown(user ?? "user", error);
  const wrong = code === "FILE_NOT_FOUND" ? "does not exist" : code === "FILE_NOT_DIRECTORY" ? "is not a directory" : undefined;
  return wrong === undefined ? error : new BelljarError("ARGUMENTS_INVALID", `cwd '${cwd ?? ""}' ${wrong}`, { cause: error });
}

async function* tell(process: EnvdProcess, listening: Listening, signal: AbortSignal): AsyncGenerator<ProcessEvent> {
  await using held = listening;
  yield { event: { start: { pid: process.pid } } };
  for (let next = await held.take(signal); next !== undefined; next = await held.take(signal)) {
    if ("kind" in next) yield toDataEvent(next.kind, next.bytes);
    else if (next.timedOut) throw new BelljarError("EXEC_TIMEOUT", "The time is over that the process was given");
    else return yield toEndEvent(next);
  }
}

function toDataEvent(kind: "stdout" | "stderr" | "pty", bytes: Buffer): ProcessEvent {
  const text = bytes.toString("base64");
  return { event: { data: kind === "stdout" ? { stdout: text } : kind === "stderr" ? { stderr: text } : { pty: text } } };
}
