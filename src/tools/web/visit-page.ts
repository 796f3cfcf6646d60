import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";

/** What the program inside says. It may be anything: it has read a page that somebody else wrote. */
const Answer = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("page"),
    url: z.string().max(8_192),
    status: z.number().int().min(0).max(999),
    type: z.string().max(1_024),
    title: z.string().max(100_000),
    text: z.string(),
    cut: z.boolean(),
  }),
  z.object({ kind: z.enum(["refused", "failed", "unreadable"]), message: z.string().max(16_384) }),
]);

export type Page = Extract<z.output<typeof Answer>, { kind: "page" }>;

export interface PageVisit {
  readonly url: string;
  readonly whole: boolean;
  /** The program inside. */
  readonly kernel: string;
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 60_000;
const OUTPUT_BYTES = 16 * 1_048_576;
const REASON_MAX = 1_000;
/** A server of the sandbox's own is reached without a network. */
const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;
/** Pages are read by a program with a bounded heap, so that one of them costs itself and not the sandbox. */
const HEAP = "--max-old-space-size=512";

/**
 * Fetches and reads a page inside the sandbox, under its network policy: nothing of it is parsed here.
 * Rejects with `NETWORK_DENIED`, `NETWORK_FAILED`, `FILE_NOT_TEXT` or `COMMAND_FAILED`.
 */
export async function visitPage(sandbox: Sandbox, visit: PageVisit): Promise<Page> {
  const { url, whole, kernel, signal } = visit;
  const run = await sandbox.guest.run({
    argv: ["node", HEAP, kernel],
    input: JSON.stringify({ url, whole }),
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: OUTPUT_BYTES,
    signal,
  });
  if (run.timedOut) throw new BelljarError("NETWORK_FAILED", `${url} was not read within ${TIMEOUT_MS / 1_000} s`);
  const answer = run.exitCode === 0 && !run.truncated ? parseAnswer(run.stdout) : undefined;
  if (!answer) throw unreadable(url, `the program that reads it failed: ${firstLine(run.stderr)}`);
  if (answer.kind === "page") return answer;
  throw await failure(sandbox, url, answer);
}

function parseAnswer(stdout: Buffer): z.output<typeof Answer> | undefined {
  try {
    return Answer.safeParse(JSON.parse(stdout.toString("utf8"))).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function failure(sandbox: Sandbox, url: string, answer: Exclude<z.output<typeof Answer>, Page>): Promise<BelljarError> {
  const why = answer.message.slice(0, REASON_MAX);
  if (answer.kind === "unreadable") return new BelljarError("FILE_NOT_TEXT", `${url} is no page to read. ${why}`);
  if (answer.kind === "refused") return new BelljarError("NETWORK_DENIED", why);
  if (!LOOPBACK.test(new URL(url).hostname) && (await sandbox.info()).network === "none") {
    return new BelljarError(
      "NETWORK_DENIED",
      `This sandbox has no network, so ${url} is not reached: sandbox_network tells what it may be given`,
    );
  }
  return new BelljarError("NETWORK_FAILED", `${url} could not be fetched: ${why}`);
}

function unreadable(url: string, why: string): BelljarError {
  return new BelljarError("COMMAND_FAILED", `${url} could not be read: ${why}`);
}

function firstLine(stderr: Buffer): string {
  const lines = stderr.toString("utf8").split("\n");
  return (lines.find((line) => /error/i.test(line)) ?? lines[0] ?? "").slice(0, REASON_MAX);
}
