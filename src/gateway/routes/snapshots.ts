import * as z from "zod";
import type { ForkSource, Sandboxes } from "../../sandbox/sandbox.ts";
import { forkRequestSchema, forksSchema } from "../../sandbox/wire/fork-schema.ts";
import { snapshotOptionsSchema, snapshotSchema, snapshotsSchema } from "../../sandbox/wire/state-schemas.ts";
import { changes, reads } from "../auth/access.ts";
import type { Asked, Route } from "./route.ts";
import { defineRoute } from "./route.ts";
import { reachSandbox } from "./reach-sandbox.ts";
import { idParams } from "./sandbox-schemas.ts";

const READS = reads("toolset:sandbox");
const CHANGES = changes("toolset:sandbox");

const snapshotParams = z.object({ snapshot: z.string().min(1).max(64) });
const snapshotsQuery = z.strictObject({
  sandbox: z
    .string()
    .regex(/^[a-z0-9]{20}$/, "must be the full id of a sandbox")
    .optional()
    .describe("Only those of this sandbox, by its full id. It may have ended"),
});

/** Snapshots, and the sandboxes that are made from them. */
export function snapshotRoutes(sandboxes: Sandboxes): readonly Route[] {
  const { snapshots } = sandboxes;
  return [
    defineRoute({
      method: "POST",
      path: "/v1/sandboxes/:id/snapshots",
      access: CHANGES,
      summary: "Freezes what a sandbox has written. The snapshot outlives the sandbox",
      params: idParams,
      body: snapshotOptionsSchema,
      answers: { 201: snapshotSchema },
      async handle(asked) {
        const { id } = await reachSandbox(sandboxes, asked);
        return snapshots.create(asked.caller, id, asked.body, asked.signal);
      },
    }),
    defineRoute({
      method: "GET",
      path: "/v1/snapshots",
      access: READS,
      summary: "The caller's snapshots, the newest first; `?sandbox=ID`: those of one sandbox",
      query: snapshotsQuery,
      answers: { 200: snapshotsSchema },
      handle: async ({ caller, query }) => ({ snapshots: await snapshots.list(caller, query) }),
    }),
    defineRoute({
      method: "GET",
      path: "/v1/snapshots/:snapshot",
      access: READS,
      summary: "All about a snapshot; `:snapshot` is its id or its name",
      params: snapshotParams,
      answers: { 200: snapshotSchema },
      handle: ({ caller, params }) => snapshots.info(caller, params.snapshot),
    }),
    defineRoute({
      method: "DELETE",
      path: "/v1/snapshots/:snapshot",
      access: CHANGES,
      summary: "Removes a snapshot. Sandboxes that were made from it keep their files",
      params: snapshotParams,
      answers: { 204: null },
      handle: ({ caller, params }) => snapshots.remove(caller, params.snapshot),
    }),
    forkRoute(sandboxes),
  ];
}

function forkRoute(sandboxes: Sandboxes): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/forks",
    access: CHANGES,
    summary: "Makes sandboxes with the files of a snapshot, or of a sandbox as it is now. All are made, or none",
    body: forkRequestSchema,
    answers: { 201: forksSchema },
    async handle(asked) {
      const { sandbox, snapshot, ...options } = asked.body;
      const source = snapshot === undefined ? await reachSource(sandboxes, asked, sandbox ?? "") : { snapshot };
      const made = await sandboxes.snapshots.fork(asked.caller, source, options, asked.signal);
      return { sandboxes: await Promise.all(made.map((one) => one.info())), lost: made.lost };
    },
  });
}

async function reachSource(
  sandboxes: Pick<Sandboxes, "get">,
  { caller, reached }: Pick<Asked, "caller" | "reached">,
  id: string,
): Promise<ForkSource> {
  return { sandbox: (await reachSandbox(sandboxes, { caller, params: { id }, reached })).id };
}
