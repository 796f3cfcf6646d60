import * as z from "zod";
import { egressFields } from "./network-wish.ts";

const TIMEOUT_MAX_S = 31_536_000;

export const timeoutField = z
  .int()
  .max(TIMEOUT_MAX_S)
  .refine((seconds) => seconds > 0, "Timeout must be greater than 0")
  .describe("Seconds from now");

/** For a name: `host:${PORT}`. */
const maskedHost = z
  .string()
  .max(255)
  .regex(/^[A-Za-z0-9.-]+(?::(?:\d{1,5}|\$\{PORT\}))?$/, "must be a host name, perhaps with a port or ${PORT}");

const networkSchema = z.object({
  ...egressFields,
  allowPublicTraffic: z.boolean().nullish(),
  maskRequestHost: maskedHost.nullish(),
  httpsPorts: z.array(z.int()).max(100).nullish().describe("Refused"),
});

/** What a client may say of a new sandbox. Fields that are not known are left out, as E2B's own server does. */
export const createSchema = z.object({
  templateID: z.string().min(1).max(200).describe("A name, or the id of a snapshot"),
  timeout: timeoutField.optional(),
  metadata: z.record(z.string(), z.string()).nullish(),
  envVars: z.record(z.string(), z.string()).nullish(),
  allow_internet_access: z.boolean().nullish().describe("false: no network but what `allowOut` names"),
  network: networkSchema.nullish(),
  iam: z
    .object({ tokens: z.record(z.string(), z.unknown()).nullish() })
    .nullish()
    .describe("Refused"),
  mcp: z.unknown().optional().describe("Its client starts the servers"),
  autoPause: z.boolean().nullish(),
  autoPauseMemory: z.boolean().nullish(),
  autoResume: z.object({ enabled: z.boolean() }).nullish(),
  volumeMounts: z
    .array(z.object({ name: z.string().min(1).max(200), path: z.string().min(1).max(4_096) }))
    .max(64)
    .nullish(),
});

export type CreateWish = z.output<typeof createSchema>;
