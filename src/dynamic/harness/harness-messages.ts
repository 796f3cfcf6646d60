import * as z from "zod";

/** What a harness says on its channel. The code that it runs can say it too: nothing of it is trusted beyond its form. */

const TEXT_MAX = 8 * 1_048_576;
const BLOCKS_MAX = 1_000;
const TOOLS_MAX = 100;
const REQUIREMENTS_MAX = 100;

const text = (max: number): z.ZodString => z.string().max(max);
const long = z.string().max(TEXT_MAX);
const token = text(64);
const schema = z.record(z.string(), z.unknown());
const mimeType = text(200);
const hint = z.boolean().optional();

const resource = z.union([
  z.object({ uri: text(2_000), mimeType: mimeType.optional(), text: long }),
  z.object({ uri: text(2_000), mimeType: mimeType.optional(), blob: long }),
]);

export const contentBlock = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: long }),
  z.object({ type: z.literal("image"), data: long, mimeType }),
  z.object({ type: z.literal("audio"), data: long, mimeType }),
  z.object({
    type: z.literal("resource_link"),
    uri: text(2_000),
    name: text(200),
    mimeType: mimeType.optional(),
    description: text(2_000).optional(),
  }),
  z.object({ type: z.literal("resource"), resource }),
]);

const toldTool = z.object({
  function: text(200),
  name: text(200),
  title: text(200).optional(),
  description: text(65_536),
  inputSchema: schema,
  outputSchema: schema.optional(),
  annotations: z.object({ readOnlyHint: hint, destructiveHint: hint, idempotentHint: hint, openWorldHint: hint }).optional(),
});

export const harnessMessage = z.discriminatedUnion("type", [
  z.object({ token, type: z.literal("tools"), tools: z.array(toldTool).max(TOOLS_MAX) }),
  z.object({ token, type: z.literal("requirements"), requirements: z.array(text(200)).max(REQUIREMENTS_MAX) }),
  z.object({ token, type: z.literal("refused"), line: z.number().int().positive().nullish(), message: text(65_536) }),
  z.object({
    token,
    type: z.literal("progress"),
    progress: z.number(),
    total: z.number().optional(),
    message: text(2_000).optional(),
  }),
  z.object({ token, type: z.literal("log"), level: z.enum(["debug", "info", "notice", "warning", "error"]), message: text(65_536) }),
  /** `id`: by which the code tells the answers apart, where it makes several calls at once. */
  z.object({ token, type: z.literal("call"), id: z.number().int().nonnegative().optional(), tool: text(200), arguments: schema }),
  z.object({
    token,
    type: z.literal("result"),
    content: z.array(contentBlock).max(BLOCKS_MAX).readonly(),
    structured: z.record(z.string(), z.unknown()).optional(),
  }),
  /** Of a script. */
  z.object({ token, type: z.literal("returned"), value: z.unknown() }),
  z.object({ token, type: z.literal("error"), name: text(200), message: text(65_536), traceback: text(131_072).optional() }),
]);

export type HarnessMessage = z.output<typeof harnessMessage>;
/** One tool of the code, as the harness read it. */
export type ToldTool = z.output<typeof toldTool>;
type WithoutToken<Message> = Message extends unknown ? Omit<Message, "token"> : never;
/** The last message of a harness. */
export type HarnessAnswer = WithoutToken<
  Extract<HarnessMessage, { type: "tools" | "requirements" | "refused" | "result" | "returned" | "error" }>
>;
