import * as z from "zod";
import type { ListeningPort, PortLink } from "../../network/ports/port-link.ts";
import type { Usage } from "../../runtime/contract/run.ts";
import type { Isolation, IsolationCheck } from "../../runtime/contract/runtime.ts";
import type { StorageReport, StorageSum } from "../keeping/storage-report.ts";
import type { BaseAnswer, BaseEntry } from "../workspace/base/base-entry.ts";
import { dateField, deadlineAction, limitName, schemaOf, textsSchema } from "./fields.ts";
import { sandboxSchema } from "./sandbox-schema.ts";

/** What is answered about a sandbox beside itself. */
export const usageSchema = schemaOf<Usage>()({
  memoryBytes: z.number(),
  memoryPeakBytes: z.number(),
  cpuUs: z.number(),
  processes: z.number(),
  oomKills: z
    .number()
    .optional()
    .describe("Processes that the kernel killed for lack of memory. Absent if nobody counts them on this host"),
  phase: z.enum(["running", "paused", "ending"]),
  pauseReason: z
    .enum(["asked", "deadline", "idle"])
    .optional()
    .describe("Of a paused one: somebody asked for it, its deadline did it, or it was idle"),
  memoryAwakeBytes: z
    .number()
    .optional()
    .describe("Of a paused one: the memory that it took just before. Absent if nobody counts it on this host"),
  deadlineAction: deadlineAction.describe("What happens at the deadline"),
  deadline: dateField.optional(),
});

const isolationCheck = schemaOf<IsolationCheck>()({
  id: z.string(),
  state: z.enum(["enforced", "partial", "absent"]),
  detail: z.string(),
  remedy: z.string().optional(),
});

/** What a runtime enforces on the server's host. */
const isolationSchema = schemaOf<Isolation>()({
  runtime: z.string(),
  available: z.boolean(),
  checks: z.array(isolationCheck).readonly(),
  limits: z.array(limitName).readonly(),
  users: z.enum(["two", "one"]),
  terminals: z.boolean(),
  pause: z.boolean(),
  sleep: z.boolean().describe("A sandbox can be paused by itself when it is idle"),
  stop: z.boolean(),
  states: z.enum(["clone", "copy", "none"]).describe("How most sandboxes are frozen"),
});

const storageSum = schemaOf<StorageSum>()({ count: z.number(), bytes: z.number() });

const storageReport = schemaOf<StorageReport>()({
  sizeBytes: z.number().describe("As much as it may hold now. It follows the room that the host has"),
  usedBytes: z.number(),
  hostBytes: z.number().describe("As much as it takes of the host's disk"),
  live: storageSum.describe("What live sandboxes wrote. What several share counts for the one that wrote it"),
  stopped: storageSum.describe("Deleting these gives back what no snapshot or checkpoint shares with them"),
  left: storageSum.describe("Of sandboxes that have ended, and of none"),
  frozen: storageSum.describe("Frozen layers, of snapshots and checkpoints, with what the file system needs for itself"),
});

export const hostIsolationSchema = isolationSchema.extend({
  others: z
    .array(isolationSchema)
    .readonly()
    .optional()
    .describe("The same for the other runtimes that a create may name. Absent when there are none"),
  storagePool: storageReport.optional().describe("What the home's storage pool holds. Absent without a pool"),
});

export const portLinkSchema = schemaOf<PortLink>()({
  sandbox: z.string(),
  port: z.number(),
  access: z.enum(["token", "public"]),
  token: z.string().optional(),
  createdAt: dateField,
  expiresAt: dateField.optional().describe("From then on it gives access to nobody. Absent: it does until it is removed"),
});

const listeningPort = schemaOf<ListeningPort>()({ port: z.number(), address: z.string(), uid: z.number() });

export const portsSchema = z.object({ listening: z.array(listeningPort).readonly(), links: z.array(portLinkSchema).readonly() });

export const removedSchema = z.object({ removed: z.boolean().describe("Whether there was one") });

const whole = z.codec(z.string().regex(/^-?[0-9]{1,20}$/), z.bigint(), { decode: (text) => BigInt(text), encode: String });
const bytes = z.codec(z.base64(), z.instanceof(Buffer), {
  decode: (text) => Buffer.from(text, "base64"),
  encode: (buffer) => buffer.toString("base64"),
});

const baseEntry = schemaOf<BaseEntry>()({
  key: z.string().describe("Path below the workspace, a character for each byte"),
  type: z.enum(["file", "directory", "link", "other"]),
  size: z.number(),
  mode: z.number(),
  mtimeNs: whole,
  ctimeNs: whole,
  inode: whole,
  target: bytes.optional().describe("Text of a link, base64"),
  blob: z.string().optional().describe("Git's name of the content, where the file was as git's index has it"),
});

export const workspaceBaseSchema = schemaOf<BaseAnswer>()({
  startedNs: whole.optional().describe("Time of the host's files when the sandbox was made"),
  isComplete: z.boolean().describe("Whether the whole folder was listed: what the list does not have was not there"),
  entries: z.array(baseEntry).readonly(),
});

export const workspaceTextSchema = z.object({ text: bytes.optional().describe("base64. Absent where none was kept") });

export const environmentSchema = z.object({ env: textsSchema });

export const refusalsSchema = z.object({
  lines: z.array(z.string()).readonly().describe("In words: the places, the rules that are missing, how to ask for them"),
});

/** One page of a list. */
export const sandboxPageSchema = z.object({
  sandboxes: z.array(sandboxSchema).readonly(),
  nextCursor: z.string().max(256).optional().describe("Ask with it for the next page. Absent on the last one"),
});

export const defaultSandboxSchema = z.object({
  created: z.boolean(),
  started: z.literal(true).optional().describe("It was stopped, and this request started it again"),
  sandbox: sandboxSchema,
});
