import * as z from "zod";
import { endReason } from "./fields.ts";

const sandbox = z
  .string()
  .regex(/^[a-z0-9]{20}$/)
  .describe("Its id");

/** One event of the caller's sandboxes, the same in this process and on the wire. */
export const sandboxEventSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("resync") }).describe("The first event, and again after events were lost. List the sandboxes after it"),
  z.object({ type: z.literal("created"), sandbox }),
  z.object({ type: z.literal("changed"), sandbox }).describe("Its network, ports, deadline or state may have changed. Ask for it again"),
  z.object({ type: z.literal("ended"), sandbox, reason: endReason }),
]);

export type SandboxEvent = Readonly<z.output<typeof sandboxEventSchema>>;
