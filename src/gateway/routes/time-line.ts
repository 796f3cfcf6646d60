import * as z from "zod";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import {
  changedPathsSchema,
  checkpointOptionsSchema,
  checkpointSchema,
  comparedPointsSchema,
  pointDiffSchema,
  rollbackSchema,
  timeLineSchema,
} from "../../sandbox/wire/state-schemas.ts";
import { changes, reads } from "../auth/access.ts";
import type { Route } from "./route.ts";
import { defineRoute } from "./route.ts";
import { reachSandbox } from "./reach-sandbox.ts";
import { idParams } from "./sandbox-schemas.ts";

const CHANGES = changes("toolset:sandbox");

const path = "/v1/sandboxes/:id/checkpoints";
const checkpointParams = idParams.extend({ checkpoint: z.string().min(1).max(64) });

const { from: point } = comparedPointsSchema.shape;
const paths = z.array(z.string().min(1).max(4_096)).max(256);
const rollbackBody = z.strictObject({ to: point });
const undoBody = z.strictObject({ to: point, paths: paths.min(1).describe("What is put back, with all below it. Absolute, inside") });
const mergeBody = z.strictObject({
  from: z.string().min(1).max(64).describe("Id or name of the sandbox whose changes are wanted"),
  paths: paths.optional().describe("Only these and what is below them. Absolute, inside"),
});

/** The time line of a sandbox: its checkpoints, and what is done with them. */
export function timeLineRoutes(sandboxes: Sandboxes): readonly Route[] {
  return [...checkpointRoutes(sandboxes), ...goingRoutes(sandboxes), ...comparingRoutes(sandboxes)];
}

function checkpointRoutes(sandboxes: Sandboxes): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path,
      access: reads("toolset:sandbox"),
      summary: "The checkpoints of a sandbox, the oldest first, and `head`, from which its files come now",
      params: idParams,
      answers: { 200: timeLineSchema },
      handle: async (asked) => (await reachSandbox(sandboxes, asked)).timeLine.list(),
    }),
    defineRoute({
      method: "POST",
      path,
      access: CHANGES,
      summary: "Freezes what a sandbox has written as a checkpoint, to which it can be put back",
      params: idParams,
      body: checkpointOptionsSchema,
      answers: { 201: checkpointSchema },
      handle: async (asked) => (await reachSandbox(sandboxes, asked)).timeLine.checkpoint(asked.body, asked.signal),
    }),
    defineRoute({
      method: "DELETE",
      path: `${path}/:checkpoint`,
      access: CHANGES,
      summary: "Removes a checkpoint. The files of the sandbox stay as they are",
      params: checkpointParams,
      answers: { 204: null },
      handle: async (asked) => (await reachSandbox(sandboxes, asked)).timeLine.remove(asked.params.checkpoint),
    }),
  ];
}

function goingRoutes(sandboxes: Sandboxes): readonly Route[] {
  return [
    defineRoute({
      method: "POST",
      path: "/v1/sandboxes/:id/rollback",
      access: CHANGES,
      summary: "Puts all files of a sandbox back to a checkpoint. All its processes end; its id and links stay",
      params: idParams,
      body: rollbackBody,
      answers: { 200: rollbackSchema },
      async handle(asked) {
        const { sandbox: _, ...told } = await (await reachSandbox(sandboxes, asked)).timeLine.rollback(asked.body.to, asked.signal);
        return told;
      },
    }),
    defineRoute({
      method: "POST",
      path: "/v1/sandboxes/:id/undo",
      access: CHANGES,
      summary: "Puts some paths back to what they were at a checkpoint. Nothing ends",
      params: idParams,
      body: undoBody,
      answers: { 200: changedPathsSchema },
      async handle(asked) {
        const { to, paths: wanted } = asked.body;
        return (await reachSandbox(sandboxes, asked)).timeLine.undo(to, wanted, asked.signal);
      },
    }),
  ];
}

function comparingRoutes(sandboxes: Sandboxes): readonly Route[] {
  return [
    defineRoute({
      method: "POST",
      path: "/v1/sandboxes/:id/diff",
      // It tells what files hold, as a stream of the guest does.
      access: CHANGES,
      summary: "What differs between two points of a sandbox, or between one and now",
      params: idParams,
      body: comparedPointsSchema,
      answers: { 200: pointDiffSchema },
      handle: async (asked) => (await reachSandbox(sandboxes, asked)).timeLine.diff(asked.body, asked.signal),
    }),
    defineRoute({
      method: "POST",
      path: "/v1/sandboxes/:id/merge",
      access: CHANGES,
      summary: "Brings in what another sandbox has changed since both had the same files. Conflicts are named and left alone",
      params: idParams,
      body: mergeBody,
      answers: { 200: changedPathsSchema },
      async handle(asked) {
        const sandbox = await reachSandbox(sandboxes, asked);
        const from = await sandboxes.get(asked.caller, asked.body.from);
        return sandbox.timeLine.merge(from, asked.body.paths, asked.signal);
      },
    }),
  ];
}
