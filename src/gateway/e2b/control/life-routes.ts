import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import type { Asked, Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { E2b } from "../e2b.ts";
import { timeoutField } from "./create-schema.ts";
import type { FoundSandbox } from "./find-sandbox.ts";
import { findSandbox, idParams, toSandboxId } from "./find-sandbox.ts";
import { actionOf, alreadyPaused, DEFAULT_TIMEOUT_S, deadlineActionOf, pauseSandbox, turnOf, wakeSandbox } from "./lifecycle.ts";
import { madeWith } from "./made-with.ts";
import { type SandboxAnswer, sandboxSchema, stateOf, toSandboxAnswer } from "./sandbox-answer.ts";
import { CHANGES } from "./scopes.ts";

const RESUME_TIMEOUT_S = 15;
const REFRESH_LEAST_S = 15;
/** Whatever is left of its life ends now. */
const AT_ONCE_MS = 1;

const connectSchema = z.object({ timeout: timeoutField.optional(), memory: z.boolean().nullish() }).nullish();
const resumeSchema = z
  .object({ timeout: timeoutField.optional(), autoPause: z.boolean().nullish(), memory: z.boolean().nullish() })
  .nullish();
const pauseSchema = z.object({ memory: z.boolean().nullish() }).nullish();
const timeoutSchema = z.object({ timeout: z.int().min(-31_536_000).max(31_536_000) });
const refreshSchema = z.object({ duration: z.int().min(0).max(31_536_000).optional() }).nullish();

type Params = z.output<typeof idParams>;

/** How long a sandbox lives, and whether it runs. */
export function lifeRoutes(e2b: E2b): readonly Route[] {
  return [
    ...deadlineRoutes(e2b),
    connectRoute(e2b, "/sandboxes/:id/connect"),
    connectRoute(e2b, "/v2/sandboxes/:id/connect"),
    resumeRoute(e2b),
    defineRoute({
      method: "POST",
      path: "/sandboxes/:id/pause",
      access: CHANGES,
      summary: "Freezes a sandbox; with `memory: false` ends its processes, and keeps its files. 409 if it is paused",
      params: idParams,
      body: pauseSchema,
      takes: { isOptional: true },
      answers: { 204: null },
      handle: (asked) =>
        inTurn(e2b, asked, ({ sandbox, info }) =>
          pauseSandbox(sandbox, info, { memory: asked.body?.memory ?? undefined, retentionMs: e2b.settings.pausedRetentionMs }),
        ),
    }),
  ];
}

/** One change of a sandbox's life at a time: what a pause sets must not meet a sandbox that was just resumed. */
async function inTurn<Result>(
  { sandboxes, turns }: Pick<E2b, "sandboxes" | "turns">,
  asked: Pick<Asked<Params>, "caller" | "params" | "reached" | "signal">,
  work: (found: FoundSandbox) => Promise<Result>,
): Promise<Result> {
  const turn = turnOf({ owner: asked.caller.id, id: toSandboxId(asked.params.id) });
  return turns.run(turn, async () => work(await findSandbox(sandboxes, asked)), asked.signal);
}

function deadlineRoutes(e2b: E2b): readonly Route[] {
  return [
    defineRoute({
      method: "POST",
      path: "/sandboxes/:id/timeout",
      access: CHANGES,
      summary: "Sets how long a sandbox still lives. 409 if it is paused",
      params: idParams,
      body: timeoutSchema,
      answers: { 204: null },
      handle: (asked) => inTurn(e2b, asked, async (found) => assertRunning(found).extend(Math.max(AT_ONCE_MS, asked.body.timeout * 1_000))),
    }),
    defineRoute({
      method: "POST",
      path: "/sandboxes/:id/refreshes",
      access: CHANGES,
      summary: "Lets a sandbox live at least so long from now. 409 if it is paused",
      params: idParams,
      body: refreshSchema,
      takes: { isOptional: true },
      answers: { 204: null },
      handle: (asked) =>
        inTurn(e2b, asked, async (found) => {
          assertRunning(found);
          await extendTo(found, Math.max(REFRESH_LEAST_S, asked.body?.duration ?? 0));
        }),
    }),
  ];
}

function assertRunning({ sandbox, info }: FoundSandbox): FoundSandbox["sandbox"] {
  if (stateOf(info) === "paused") throw alreadyPaused(info.id);
  return sandbox;
}

/** It is never shortened. */
async function extendTo({ sandbox, info }: FoundSandbox, timeoutS: number): Promise<void> {
  const timeoutMs = timeoutS * 1_000;
  if (!info.deadline || info.deadline.getTime() < Date.now() + timeoutMs) await sandbox.extend(timeoutMs);
}

function connectRoute(e2b: E2b, path: string): Route {
  return defineRoute({
    method: "POST",
    path,
    access: CHANGES,
    summary: "Lets a sandbox live at least so long from now. A paused one is resumed (201), a stopped one started from its files",
    params: idParams,
    body: connectSchema,
    takes: { isOptional: true },
    answers: { 200: sandboxSchema, 201: sandboxSchema },
    handle: (asked) => inTurn(e2b, asked, (found) => connect(e2b, asked, found)),
  });
}

type AskedConnect = Asked<Params, unknown, z.output<typeof connectSchema>>;

async function connect(e2b: E2b, asked: AskedConnect, found: FoundSandbox): Promise<SandboxAnswer> {
  const { timeout = DEFAULT_TIMEOUT_S, memory } = asked.body ?? {};
  const answer = toSandboxAnswer(e2b, asked, found.info);
  if (stateOf(found.info) === "running") {
    await extendTo(found, timeout);
    // Its deadline may have paused it since it was looked at.
    if (found.sandbox.isPaused?.() !== true) return answer;
  }
  const wish = { timeoutMs: timeout * 1_000, action: actionOf(found.info), memory: memory ?? undefined, signal: asked.signal };
  const { lost } = await wakeSandbox(found.sandbox, wish);
  asked.setStatus(201);
  return { ...answer, ...(lost.length > 0 && { lost: [...lost] }) };
}

function resumeRoute(e2b: E2b): Route {
  return defineRoute({
    method: "POST",
    path: "/sandboxes/:id/resume",
    access: CHANGES,
    summary: "Resumes a paused sandbox, or starts a stopped one from its files. 409 if it runs",
    params: idParams,
    body: resumeSchema,
    takes: { isOptional: true },
    answers: { 201: sandboxSchema },
    handle: (asked) =>
      inTurn(e2b, asked, async ({ sandbox, info }) => {
        if (stateOf(info) === "running") throw alreadyRunning(info.id);
        const { timeout = RESUME_TIMEOUT_S, autoPause, memory } = asked.body ?? {};
        const made = { ...madeWith(info.metadata), ...(typeof autoPause === "boolean" && { autoPause }) };
        const action = typeof autoPause === "boolean" ? deadlineActionOf(made) : actionOf(info);
        const { lost } = await wakeSandbox(sandbox, {
          timeoutMs: timeout * 1_000,
          action,
          memory: memory ?? undefined,
          signal: asked.signal,
        });
        return { ...toSandboxAnswer(e2b, asked, info), ...(lost.length > 0 && { lost: [...lost] }) };
      }),
  });
}

function alreadyRunning(id: string): BelljarError {
  return new BelljarError("SANDBOX_RUNNING", `Sandbox ${id} is already running`);
}
