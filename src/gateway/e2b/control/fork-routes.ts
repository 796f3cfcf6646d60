import * as z from "zod";
import { BelljarError, type ErrorCode } from "../../../errors.ts";
import type { Asked, Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { Sandbox, SandboxInfo } from "../../../sandbox/sandbox.ts";
import type { E2b } from "../e2b.ts";
import { controlStatus } from "../e2b-errors.ts";
import { timeoutField } from "./create-schema.ts";
import { findSandbox, idParams } from "./find-sandbox.ts";
import { actionOf, alreadyPaused, DEFAULT_TIMEOUT_S } from "./lifecycle.ts";
import { sandboxSchema, stateOf, toSandboxAnswer } from "./sandbox-answer.ts";
import { CHANGES } from "./scopes.ts";

const FORKS_MAX = 100;

const forkSchema = z
  .object({ timeout: timeoutField.optional(), count: z.int().min(1).max(FORKS_MAX).default(1) })
  .nullish()
  .transform((wish) => wish ?? { count: 1 });

const resultSchema = z.union([z.object({ sandbox: sandboxSchema }), z.object({ error: z.object({ code: z.int(), message: z.string() }) })]);

type Params = z.output<typeof idParams>;
type ForkWish = { readonly timeout?: number | undefined; readonly count: number };
type Result = z.output<typeof resultSchema>;

/** What refuses the forks, and nothing about the sandbox that is forked. */
const OF_FORKS: ReadonlySet<ErrorCode> = new Set([
  "QUOTA_EXCEEDED",
  "DISK_FULL",
  "RUNTIME_UNAVAILABLE",
  "RUNTIME_FAILED",
  "LIMIT_UNENFORCEABLE",
]);

export function forkRoutes(e2b: E2b): readonly Route[] {
  return [
    defineRoute({
      method: "POST",
      path: "/sandboxes/:id/fork",
      access: CHANGES,
      summary:
        "Makes sandboxes with the files of this one as they are now. One result for each; all are made, or none. 409 if it is paused",
      params: idParams,
      body: forkSchema,
      takes: { isOptional: true },
      answers: { 201: z.array(resultSchema) },
      handle: (asked) => fork(e2b, asked),
    }),
  ];
}

async function fork(e2b: E2b, asked: Asked<Params, unknown, ForkWish>): Promise<readonly Result[]> {
  const { info } = await findSandbox(e2b.sandboxes, asked);
  if (stateOf(info) === "paused") throw alreadyPaused(info.id);
  const made = await forkAll(e2b, asked, info);
  if (made instanceof BelljarError) return Array.from({ length: asked.body.count }, () => ({ error: toError(made) }));
  return made.map(({ id }) => ({ sandbox: toSandboxAnswer(e2b, asked, { ...info, id }) }));
}

async function forkAll(
  { sandboxes }: E2b,
  asked: Asked<Params, unknown, ForkWish>,
  info: SandboxInfo,
): Promise<readonly Sandbox[] | BelljarError> {
  const { caller, body, signal } = asked;
  const { timeout = DEFAULT_TIMEOUT_S, count } = body;
  const options = {
    count,
    timeoutMs: timeout * 1_000,
    onDeadline: actionOf(info) ?? "kill",
    network: info.network,
    isPublicOnly: true,
    pauseIdleMs: 0,
  };
  try {
    return await sandboxes.snapshots.fork(caller, { sandbox: info.id }, options, signal);
  } catch (cause) {
    if (cause instanceof BelljarError && OF_FORKS.has(cause.code)) return cause;
    throw cause;
  }
}

function toError(failure: BelljarError): { readonly code: number; readonly message: string } {
  return { code: controlStatus(failure), message: failure.message };
}
