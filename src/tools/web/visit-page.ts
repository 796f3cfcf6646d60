import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { tellUsedUp, watchUsedUp } from "../../sandbox/used-up.ts";

/** What the program inside says. It may be anything: it has read a page that somebody else wrote. */
const Answer = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("page"),
    url: z.string().max(8_192),
    status: z.number().int().min(0).max(999),
    type: z.string().max(1_024),
    title: z.string().max(1_000),
    cut: z.boolean(),
  }),
  z.object({ kind: z.enum(["refused", "failed", "unreadable"]), message: z.string().max(16_384) }),
]);

type Head = z.output<typeof Answer>;

export type Page = Extract<Head, { kind: "page" }> & { readonly text: string };

export interface PageVisit {
  readonly url: string;
  readonly whole: boolean;
  /** The program inside. */
  readonly kernel: string;
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 60_000;
const OUTPUT_BYTES = 8 * 1_048_576;
/** Only so much is parsed. */
const HEAD_BYTES = 65_536;
const NEWLINE = 0x0a;
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
  const findUsedUp = await watchUsedUp(sandbox);
  const run = await sandbox.guest.run({
    argv: ["node", HEAP, kernel],
    input: JSON.stringify({ url, whole }),
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: OUTPUT_BYTES,
    signal,
  });
  if (run.timedOut) throw new BelljarError("NETWORK_FAILED", `${url} was not read within ${TIMEOUT_MS / 1_000} s`);
  const answer = run.exitCode === 0 && !run.truncated ? parseAnswer(run.stdout) : undefined;
  if (!answer) {
    const reasons = [firstLine(run.stderr), ...tellUsedUp(await findUsedUp(run))];
    throw unreadable(url, `the program that reads it failed: ${reasons.filter((reason) => reason !== "").join(", and ")}`);
  }
  if (answer.kind === "page") return answer;
  throw await failure(sandbox, url, answer);
}

/** A line of JSON, and after it the text. */
function parseAnswer(stdout: Buffer): Exclude<Head, { kind: "page" }> | Page | undefined {
  const end = stdout.subarray(0, HEAD_BYTES).indexOf(NEWLINE);
  if (end < 0) return undefined;
  const head = parseHead(stdout.toString("utf8", 0, end));
  return head?.kind === "page" ? { ...head, text: stdout.toString("utf8", end + 1) } : head;
}

function parseHead(text: string): Head | undefined {
  try {
    return Answer.safeParse(JSON.parse(text)).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function failure(sandbox: Sandbox, url: string, answer: Exclude<Head, { kind: "page" }>): Promise<BelljarError> {
  const why = answer.message.slice(0, REASON_MAX);
  if (answer.kind === "unreadable") return new BelljarError("FILE_NOT_TEXT", `${url} is no page to read. ${why}`);
  if (answer.kind === "refused") return new BelljarError("NETWORK_DENIED", why);
  if (!LOOPBACK.test(new URL(url).hostname) && (await sandbox.info()).network === "none") {
    return new BelljarError(
      "NETWORK_DENIED",
      `This sandbox has no network, so ${url} is not reached: the tool sandbox, {"action":"network"}, tells what it may be given`,
    );
  }
  return new BelljarError("NETWORK_FAILED", `${url} could not be fetched: ${why}`);
}

function unreadable(url: string, why: string): BelljarError {
  return new BelljarError("COMMAND_FAILED", `${url} could not be read: ${why}`);
}

function firstLine(stderr: Buffer): string {
  const lines = stderr.toString("utf8", 0, HEAD_BYTES).split("\n");
  return (lines.find((line) => /error/i.test(line)) ?? lines[0] ?? "").slice(0, REASON_MAX);
}
