import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { statSync } from "node:fs";
import { constants } from "node:os";
import { dirname } from "node:path";
import type { Duplex } from "node:stream";
import { BelljarError } from "../../errors.ts";
import { encodeExit } from "../../protocol/exit.ts";
import type { Fields } from "../../protocol/fields.ts";
import { EXIT_FLAG, FLAG, FRAME } from "../../protocol/wire.ts";
import type { FakeSandbox } from "./fake-sandbox.ts";
import type { Peer } from "./peer.ts";
import { MARK, signalIfPresent } from "./process-table.ts";
import { InputPump, OutputPump, routeFrames } from "./pump.ts";

/** How long pipes stay open that a process left to its background children. */
const DRAIN_MS = 50;
const PATH = `/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:${dirname(process.execPath)}`;

export function serveExec(sandbox: FakeSandbox, peer: Peer, fields: Fields): void {
  const flags = fields.number("FLAGS") ?? 0;
  if (flags & FLAG.TERMINAL) throw new BelljarError("NOT_SUPPORTED", "The fake runtime has no terminals");
  if (fields.text("NAME") !== undefined) throw new BelljarError("NOT_SUPPORTED", "The fake runtime keeps no commands");
  const [program = "", ...args] = fields.all("ARG").map(String);
  const channels = fields.number("CHANNELS") ?? 0;
  const pipes: StdioOptions = [flags & FLAG.NO_STDIN ? "ignore" : "pipe", "pipe", "pipe", ...Array<"pipe">(channels + 1).fill("pipe")];
  const child = spawn(program, args, { cwd: workFolder(sandbox, fields), env: environment(sandbox, fields), detached: true, stdio: pipes });
  child.once("error", (error) => peer.fail(startFailure(program, error)));
  child.once("spawn", () => new RunningExec(sandbox, peer, child, fields));
}

function workFolder(sandbox: FakeSandbox, fields: Fields): string {
  const user = fields.text("USER");
  const path = sandbox.paths.toHost(fields.bytes("CWD") ?? Buffer.from(sandbox.paths.start(user)), user);
  if (!statSync(path).isDirectory()) throw new BelljarError("FILE_NOT_DIRECTORY", "The work folder is no directory");
  return path.toString();
}

function environment(sandbox: FakeSandbox, fields: Fields): Record<string, string> {
  const user = fields.text("USER") ?? sandbox.paths.user;
  const home = sandbox.paths.toHost(Buffer.from(sandbox.paths.home(user))).toString();
  const given = fields.all("ENV").map((entry) => {
    const [name = "", ...value] = entry.toString().split("=");
    return [name, value.join("=")] as const;
  });
  return { HOME: home, USER: user, LOGNAME: user, SHELL: "/bin/bash", PATH, ...Object.fromEntries(given), [MARK]: sandbox.id };
}

function startFailure(program: string, error: Error): Error {
  if (!("code" in error)) return error;
  if (error.code === "ENOENT" || error.code === "ENOTDIR")
    return new BelljarError("COMMAND_NOT_FOUND", `No command "${program}"`, { cause: error });
  if (error.code === "EACCES" || error.code === "ENOEXEC") {
    return new BelljarError("COMMAND_NOT_EXECUTABLE", `"${program}" cannot be executed`, { cause: error });
  }
  return error;
}

/** One command from its start to its EXIT frame. */
class RunningExec {
  readonly #peer: Peer;
  readonly #child: ChildProcess;
  readonly #pid: number;
  readonly #outputs: (OutputPump | undefined)[] = [];
  readonly #startedAt = performance.now();
  readonly #timeout: NodeJS.Timeout | undefined;
  #timedOut = false;
  #exit: { readonly code: number; readonly signal: number } | undefined;
  #drain: NodeJS.Timeout | undefined;
  #isDone = false;

  constructor(sandbox: FakeSandbox, peer: Peer, child: ChildProcess, fields: Fields) {
    this.#peer = peer;
    this.#child = child;
    this.#pid = child.pid ?? 0;
    const timeoutMs = fields.number("TIMEOUT_MS");
    if (timeoutMs !== undefined) this.#timeout = setTimeout(() => this.#timeUp(), timeoutMs);
    child.once("exit", (code, signal) => this.#exited(code ?? 0, signal ? constants.signals[signal] : 0));
    sandbox.holdUntilClosed(child.stdio.at(-1) as Duplex);
    peer.started([["PID", this.#pid]]);
    this.#join();
    peer.onGone(() => this.#hostGone());
  }

  #join(): void {
    const stdio = this.#child.stdio.slice(0, -1) as (Duplex | null)[];
    const inputs = stdio.map((pipe, id) => (id === 1 || id === 2 ? undefined : new InputPump(this.#peer, id, pipe ?? undefined)));
    const onProgress = (): void => this.#progress();
    for (const [id, pipe] of stdio.entries()) {
      const isOutput = id > 0 && pipe !== null;
      this.#outputs[id] = isOutput ? new OutputPump(this.#peer, id, pipe, onProgress) : undefined;
    }
    const route = routeFrames(this.#outputs, inputs);
    this.#peer.listen((type, channel, payload) => {
      if (type === FRAME.SIGNAL) this.#signal(payload.readUInt32BE());
      else route(type, channel, payload);
    });
  }

  #signal(signal: number): void {
    if (!this.#exit) signalIfPresent(-this.#pid, signal);
  }

  #timeUp(): void {
    this.#timedOut = true;
    this.#signal(constants.signals.SIGKILL);
  }

  #hostGone(): void {
    clearTimeout(this.#timeout);
    clearTimeout(this.#drain);
    if (!this.#isDone) signalIfPresent(-this.#pid, "SIGKILL");
    this.#closePipes();
  }

  #exited(code: number, signal: number): void {
    clearTimeout(this.#timeout);
    this.#exit = { code, signal };
    this.#progress();
  }

  /** After the exit: done when every output has ended, or when what was in the pipes is sent and a background child holds one open. */
  #progress(): void {
    if (!this.#exit || this.#isDone || this.#peer.isGone) return;
    const open = this.#outputs.filter((output) => output && !output.isEnded);
    if (open.length === 0) return this.#finish();
    clearTimeout(this.#drain);
    if (!open.some((output) => output?.isBlocked)) this.#drain = setTimeout(() => this.#finishUnlessMoreCame(), DRAIN_MS);
  }

  /** Timers run before what the pipes hold is read: after a turn in which this process was busy, that comes first. What waits for credit goes on with it. */
  #finishUnlessMoreCame(): void {
    const drain = this.#drain;
    setImmediate(() => {
      if (this.#drain === drain && !this.#outputs.some((output) => output?.isBlocked)) this.#finish();
    });
  }

  #finish(): void {
    if (this.#isDone || !this.#exit) return;
    this.#isDone = true;
    clearTimeout(this.#drain);
    for (const output of this.#outputs) output?.end();
    const durationUs = BigInt(Math.round((performance.now() - this.#startedAt) * 1_000));
    const flags = this.#timedOut ? EXIT_FLAG.TIMED_OUT : 0;
    this.#peer.last(FRAME.EXIT, encodeExit({ ...this.#exit, flags, durationUs, cpuUs: 0n, memoryPeakBytes: 0n }));
    this.#closePipes();
  }

  #closePipes(): void {
    for (const pipe of this.#child.stdio.slice(0, -1)) pipe?.destroy();
  }
}
