import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import { INSIDE } from "../../../sandbox/sandbox.ts";
import { changes, OPEN, reads } from "../../auth/access.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { SandboxAdmission } from "../admit-sandbox.ts";
import type { E2b } from "../e2b.ts";
import { assertAlive } from "../envd/assert-alive.ts";
import { listCodeContexts, openCodeContext, removeCodeContext, restartCodeContext, unknownContext } from "./code-contexts.ts";
import { runFrames } from "./run-frames.ts";

const READS = reads("toolset:code");
const CHANGES = changes("toolset:code");
/** Code may carry files along. */
const CODE_MAX_BYTES = 4 * 1_048_576;

const text = z.string().refine((value) => !value.includes("\0"), "must not hold a NUL byte");
const language = text.min(1).max(40).nullish();
const id = z.string().min(1).max(200);

const runBody = z.object({
  code: text,
  context_id: id.nullish(),
  language,
  env_vars: z.record(text.min(1).max(1_000), text).nullish(),
});

const contextBody = z.object({ language, cwd: text.min(1).max(4_096).nullish() });
const contextSchema = z.object({ id: z.string(), language: z.string(), cwd: z.string() });
const frameSchema = z
  .object({ type: z.enum(["number_of_executions", "stdout", "stderr", "result", "error", "keepalive", "end_of_execution"]) })
  .loose();

/** What E2B's interpreter in a sandbox serves there, served in front of it by the contexts that `run_code` uses. */
export function interpreterRoutes(
  e2b: Pick<E2b, "sandboxes" | "tokens">,
  admission: SandboxAdmission,
  keepaliveMs?: number,
): readonly Route[] {
  return [healthRoute(e2b), executeRoute(admission, keepaliveMs), ...contextRoutes(admission), ...contextChanges(admission)];
}

function healthRoute(e2b: Pick<E2b, "sandboxes" | "tokens">): Route {
  return defineRoute({
    method: "GET",
    path: "/health",
    access: OPEN,
    summary: "Whether the sandbox that the request names runs",
    answers: { 200: z.string() },
    async handle(asked) {
      await assertAlive(e2b, asked.request);
      asked.setType("application/json");
      return JSON.stringify("OK");
    },
  });
}

function executeRoute(admission: SandboxAdmission, keepaliveMs: number | undefined): Route {
  return defineRoute({
    method: "POST",
    path: "/execute",
    access: CHANGES,
    summary: "Runs code in a context, and answers what it says as it comes, one line of JSON each. Code whose client goes is interrupted",
    body: runBody,
    takes: { limitBytes: CODE_MAX_BYTES },
    answers: { 200: frameSchema.meta({ contentTypes: ["application/x-ndjson"] }) },
    async handle(asked) {
      const { code, context_id: contextId, language: named, env_vars: env } = asked.body;
      if (contextId && named) throw new BelljarError("ARGUMENTS_INVALID", "Only one of context_id or language can be provided");
      const sandbox = admission.of(asked.request);
      asked.reached(sandbox.id);
      asked.setType("application/x-ndjson");
      const run = {
        code,
        contextId: contextId ?? undefined,
        language: named ?? undefined,
        env: env ?? {},
        signal: asked.signal,
        keepaliveMs,
      };
      return named404(contextId ?? "", runFrames(sandbox, run));
    },
  });
}

function contextRoutes(admission: SandboxAdmission): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/contexts",
      access: READS,
      summary: "The contexts of the sandbox, the default ones first",
      answers: { 200: z.array(contextSchema).readonly() },
      handle: async (asked) => listCodeContexts(admission.of(asked.request), asked.signal),
    }),
    defineRoute({
      method: "POST",
      path: "/contexts",
      access: CHANGES,
      summary: "Starts one more context",
      body: contextBody,
      answers: { 200: contextSchema },
      async handle(asked) {
        const sandbox = admission.of(asked.request);
        asked.reached(sandbox.id);
        const { language: named, cwd } = asked.body;
        return openCodeContext(sandbox, { language: named ?? "python", cwd: cwd ?? INSIDE.userHome });
      },
    }),
  ];
}

function contextChanges(admission: SandboxAdmission): readonly Route[] {
  const params = z.object({ context: id });
  return [
    defineRoute({
      method: "POST",
      path: "/contexts/:context/restart",
      access: CHANGES,
      summary: "Ends a context and starts it again, without its variables",
      params,
      answers: { 200: null },
      async handle(asked) {
        const sandbox = admission.of(asked.request);
        asked.reached(sandbox.id);
        await named404(asked.params.context, restartCodeContext(sandbox, asked.params.context, asked.signal));
      },
    }),
    defineRoute({
      method: "DELETE",
      path: "/contexts/:context",
      access: CHANGES,
      summary: "Ends a context, with the code that runs there",
      params,
      answers: { 200: null },
      async handle(asked) {
        const sandbox = admission.of(asked.request);
        asked.reached(sandbox.id);
        await named404(asked.params.context, removeCodeContext(sandbox, asked.params.context, asked.signal));
      },
    }),
  ];
}

/** In the words of E2B's interpreter. Another call may have removed it meanwhile. */
async function named404<T>(context: string, asked: Promise<T>): Promise<T> {
  return asked.catch((error: unknown) => {
    throw error instanceof BelljarError && error.code === "CONTEXT_NOT_FOUND" ? unknownContext(context) : error;
  });
}
