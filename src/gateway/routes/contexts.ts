import * as z from "zod";
import { createContext, interruptContext, listContexts, removeContext, restartContext } from "../../interpreter/lasting/contexts.ts";
import type { ContextInfo } from "../../interpreter/lasting/contexts.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import { changes, reads } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";
import { reachSandbox } from "./reach-sandbox.ts";
import { idParams } from "./sandbox-schemas.ts";

const READS = reads("toolset:code");
const CHANGES = changes("toolset:code");

const path = "/v1/sandboxes/:id/contexts";
const contextParams = idParams.extend({ context: z.string().min(1).max(64) });

const createBody = z.strictObject({
  language: z.string().min(1).max(40).default("python").describe("python, javascript, typescript or bash"),
  cwd: z
    .string()
    .min(1)
    .max(4_096)
    .refine((text) => !text.includes("\0"), "must not hold a NUL byte")
    .optional()
    .describe("Folder that it starts in. Default: the workspace"),
});

const contextSchema = z.object({
  id: z.string(),
  language: z.string(),
  isDefault: z.boolean().describe("Whether it is the one that runs without a named context use"),
  isRunning: z.boolean().describe("false: it has ended, and starts again with its next run"),
});
const contextsSchema = z.object({ contexts: z.array(contextSchema).readonly() });

/** The interpreters of a sandbox that keep their variables. Code runs in them by the tool `run_code`. */
export function contextRoutes(sandboxes: Sandboxes): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path,
      access: READS,
      summary: "The contexts of a sandbox",
      params: idParams,
      answers: { 200: contextsSchema },
      async handle(asked) {
        const contexts = await listContexts(await reachSandbox(sandboxes, asked), asked.signal);
        return { contexts: contexts.map(toAnswer) };
      },
    }),
    defineRoute({
      method: "POST",
      path,
      access: CHANGES,
      summary: "Starts one more context",
      params: idParams,
      body: createBody,
      answers: { 201: contextSchema },
      handle: async (asked) => toAnswer(await createContext(await reachSandbox(sandboxes, asked), asked.body)),
    }),
    ...changingRoutes(sandboxes),
  ];
}

function changingRoutes(sandboxes: Sandboxes): readonly Route[] {
  return [
    defineRoute({
      method: "POST",
      path: `${path}/:context/restart`,
      access: CHANGES,
      summary: "Ends a context and starts it again, without its variables",
      params: contextParams,
      answers: { 200: contextSchema },
      async handle(asked) {
        const sandbox = await reachSandbox(sandboxes, asked);
        return toAnswer(await restartContext(sandbox, asked.params.context, asked.signal));
      },
    }),
    defineRoute({
      method: "POST",
      path: `${path}/:context/interrupt`,
      access: CHANGES,
      summary: "Stops the code that runs in a context. Its variables stay",
      params: contextParams,
      answers: { 204: null },
      handle: async (asked) => interruptContext(await reachSandbox(sandboxes, asked), asked.params.context, asked.signal),
    }),
    defineRoute({
      method: "DELETE",
      path: `${path}/:context`,
      access: CHANGES,
      summary: "Ends a context, with the code that runs there",
      params: contextParams,
      answers: { 204: null },
      handle: async (asked) => removeContext(await reachSandbox(sandboxes, asked), asked.params.context, asked.signal),
    }),
  ];
}

function toAnswer({ id, language, isDefault, pid }: ContextInfo): z.output<typeof contextSchema> {
  return { id, language, isDefault, isRunning: pid !== undefined };
}
