import * as z from "zod";
import { type LineReader, MessageLines } from "../message-lines.ts";

/** Values by media type: base64 for pictures, text, or JSON for `application/json` and what ends with `+json`. */
const MediaBundle = z.record(z.string().max(200), z.unknown());
const Text = z.string();

const Message = z.discriminatedUnion("type", [
  z.object({ type: z.literal("started"), run: Text }),
  z.object({ type: z.literal("prepared"), run: Text }),
  z.object({ type: z.literal("stdout"), text: Text }),
  z.object({ type: z.literal("stderr"), text: Text }),
  z.object({ type: z.literal("display"), data: MediaBundle }),
  z.object({ type: z.literal("result"), data: MediaBundle }),
  z.object({ type: z.literal("error"), name: Text, message: Text, traceback: Text }),
  z.object({ type: z.literal("exit"), code: z.number().int().min(0).max(255) }),
  z.object({ type: z.literal("done"), run: Text, execution_count: z.number().int().min(0).optional() }),
]);

/** What a kernel says on its channel. Whoever runs code beside a kernel can say it too. */
export type KernelMessage = z.output<typeof Message>;
export type MediaData = z.output<typeof MediaBundle>;

/** Reads a kernel's channel. Half lines come from an earlier stream: they are passed over. */
export function kernelLines(reader: LineReader<KernelMessage>): MessageLines<KernelMessage> {
  return new MessageLines({ schema: Message }, reader);
}
