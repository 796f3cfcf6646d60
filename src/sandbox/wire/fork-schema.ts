import * as z from "zod";
import { createOptionsSchema } from "./create-schema.ts";
import { sandboxSchema } from "./sandbox-schema.ts";

const source = z.string().min(1).max(64).optional();

/** What a fork may say. The rest is the original's. */
export const forkOptionsSchema = createOptionsSchema
  .omit({ template: true, runtime: true, workspace: true, ephemeral: true })
  .extend({ count: z.number().int().min(1).max(100).optional().describe("How many. Default 1") });

/** Over HTTP: the same, and what to fork. */
export const forkRequestSchema = forkOptionsSchema
  .extend({
    sandbox: source.describe("Id or name of a sandbox, whose files are taken as they are now"),
    snapshot: source.describe("Id or name of a snapshot. One of the two is needed"),
  })
  .refine(({ sandbox, snapshot }) => (sandbox === undefined) !== (snapshot === undefined), {
    message: "needs either sandbox or snapshot",
  });

const lost = z
  .array(z.string())
  .readonly()
  .describe(
    "A sentence for each thing that is not as it was when the state was taken, such as a workspace or a `/usr` that has changed on the host",
  );

export const forksSchema = z.object({ sandboxes: z.array(sandboxSchema).readonly(), lost: lost.default([]) });

/** A sandbox that was just made. `lost`: of one that began with a snapshot. */
export const createdSandboxSchema = sandboxSchema.extend({ lost: lost.optional() });

export type CreatedInfo = Readonly<z.output<typeof createdSandboxSchema>>;
