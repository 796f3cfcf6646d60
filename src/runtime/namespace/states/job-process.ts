import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import type { Socket } from "node:net";
import { BelljarError } from "../../../errors.ts";
import { encodeFrame, encodeNumberFrame, FrameDecoder } from "../../../protocol/frames.ts";
import { FRAME, PAYLOAD_MAX_BYTES } from "../../../protocol/wire.ts";
import { unavailable } from "../spawner.ts";

/** A job has the channel of its frames for its number. */
const JOBS_MAX = 256;
const SIGKILL = 9;
const TEXT_MAX = 1_000;

export interface JobEars {
  /** What the job printed, in order and in pieces. */
  output(text: Buffer): void;
  /** What it said on standard error. */
  said(text: Buffer): void;
  /** Its end: the exit code, or 128 and the signal that killed it. Called once, unless `lost` was. */
  ended(code: number): void;
  /** The process of the jobs cannot be started, or is gone with all that it did. */
  lost(error: BelljarError): void;
  /** The job goes on when this process ends, and does not keep it alive. */
  readonly isDetached?: boolean;
}

interface Jobs {
  readonly child: ChildProcessWithoutNullStreams;
  readonly running: Map<number, JobEars>;
}

/**
 * Does jobs in processes of a small one (`native/jail/jobs.c`), since forking this large one would cost more than most jobs. That process
 * starts with the first job, ends with this one, and never keeps it alive while no job runs.
 */
export class JobProcess {
  readonly #binary: string;
  #jobs: Jobs | undefined;

  constructor(binary: string) {
    this.#binary = binary;
  }

  /** Begins a job, and returns what kills it. */
  begin(input: Buffer, ears: JobEars): () => void {
    const jobs = (this.#jobs ??= this.#spawn());
    const number = Array.from({ length: JOBS_MAX }, (_, index) => index).find((index) => !jobs.running.has(index));
    if (number === undefined) throw new BelljarError("RUNTIME_UNAVAILABLE", "Too much is done to frozen states at once: try again");
    jobs.running.set(number, ears);
    hold(jobs);
    for (let at = 0; at < input.length; at += PAYLOAD_MAX_BYTES)
      jobs.child.stdin.write(encodeFrame(FRAME.DATA, number, input.subarray(at, at + PAYLOAD_MAX_BYTES)));
    jobs.child.stdin.write(encodeFrame(FRAME.END, number));
    return () => {
      if (jobs.running.get(number) === ears) jobs.child.stdin.write(encodeNumberFrame(FRAME.SIGNAL, number, SIGKILL));
    };
  }

  #spawn(): Jobs {
    const child = spawn(this.#binary, ["jobs"], { stdio: ["pipe", "pipe", "pipe"], env: {}, cwd: "/" });
    const jobs: Jobs = { child, running: new Map() };
    const decoder = new FrameDecoder((type, number, payload) => tell(jobs, { type, number, payload }));
    child.stdin.on("error", () => {}); // it has ended, which is told below
    let text = "";
    child.stderr.on("data", (chunk: Buffer) => void (text = (text + chunk.toString()).slice(0, TEXT_MAX)));
    child.stdout.on("data", (chunk: Buffer) => this.#hear(jobs, decoder, chunk));
    child.once("error", (cause) => this.#lose(jobs, unavailable(cause)));
    child.once("close", () => this.#lose(jobs, gone(text.trim() || undefined)));
    hold(jobs);
    return jobs;
  }

  #hear(jobs: Jobs, decoder: FrameDecoder, chunk: Buffer): void {
    try {
      decoder.push(chunk);
    } catch (cause) {
      jobs.child.kill("SIGKILL");
      this.#lose(jobs, gone(cause));
    }
  }

  /** The next job starts a new one. */
  #lose(jobs: Jobs, error: BelljarError): void {
    if (this.#jobs === jobs) this.#jobs = undefined;
    const ears = [...jobs.running.values()];
    jobs.running.clear();
    for (const one of ears) one.lost(error);
  }
}

function tell(jobs: Jobs, { type, number, payload }: { readonly type: number; readonly number: number; readonly payload: Buffer }): void {
  const ears = jobs.running.get(number);
  if (type === FRAME.DATA) ears?.output(payload);
  else if (type === FRAME.EVENT) ears?.said(payload);
  if (type !== FRAME.REPLY) return;
  jobs.running.delete(number);
  hold(jobs);
  ears?.ended(payload.readUInt32BE());
}

/** It keeps this process alive while there is a job that this process waits for. Its pipes are sockets. */
function hold({ child, running }: Jobs): void {
  const how = [...running.values()].some(({ isDetached }) => !isDetached) ? "ref" : "unref";
  for (const one of [child, child.stdin as Socket, child.stdout as Socket, child.stderr as Socket]) one[how]();
}

function gone(cause?: unknown): BelljarError {
  return new BelljarError("RUNTIME_FAILED", "The process that works on frozen states is gone: try again", { cause });
}
