import { BelljarError } from "../../errors.ts";
import { parseJson } from "../../files/parse-json.ts";
import { isRecord } from "../../mcp/client/config/is-record.ts";
import type { JsonObject } from "../../mcp/client/json-object.ts";
import type { McpTool } from "../../mcp/client/mcp-client.ts";
import { renderResult } from "../mcp-client/render-content.ts";
import { didYouMean } from "../../files/suggest.ts";
import type { Conversation } from "./conversation.ts";
import type { CallResult, Model, ModelCall, ModelReply, ModelTool, ModelUsage } from "./model.ts";

/** What a result may cost of the model's context. */
const RESULT_MAX = 20_000;
const SHOWN_NAMES = 20;

/** What a turn needs of the world. */
export interface TurnDoor {
  readonly model: Model;
  readonly system: string | undefined;
  readonly tools: readonly McpTool[];
  readonly maxSteps: number;
  /** Asks whether a call that may destroy something is made. */
  readonly mayCall: (tool: McpTool, args: JsonObject, signal: AbortSignal) => Promise<boolean>;
  readonly call: (tool: McpTool, args: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
  readonly onText: (text: string) => void;
  readonly onCall: (call: ModelCall, tool: McpTool | undefined) => void;
  readonly onResult: (result: CallResult) => void;
  /** A reply has ended: with calls, or with the turn. */
  readonly onReply: (reply: ModelReply) => void;
}

export interface TurnResult {
  readonly usage: ModelUsage;
  readonly calls: number;
  /** True if the model still wanted calls when the steps were used up. */
  readonly isOut: boolean;
}

/**
 * Asks the model, and makes the calls that it wants one after the other, until it wants none or has had its steps. What a tool or a server
 * fails with goes back to the model; what the model's endpoint fails with ends the turn. The conversation stays one that an endpoint takes,
 * whenever the turn ends.
 */
export async function runTurn(conversation: Conversation, door: TurnDoor, signal: AbortSignal): Promise<TurnResult> {
  const usage = { inputTokens: 0, outputTokens: 0, dollars: undefined as number | undefined };
  let calls = 0;
  const tools = door.tools.map(toModelTool);
  for (let step = 0; step < door.maxSteps; step += 1) {
    const request = { system: door.system, messages: conversation.messages, tools };
    const reply = await door.model.reply(request, { signal, onText: door.onText });
    addUsage(usage, reply.usage);
    door.onReply(reply);
    conversation.add({ role: "assistant", text: reply.text, calls: reply.calls });
    if (reply.calls.length === 0) return { usage, calls, isOut: false };
    calls += reply.calls.length;
    conversation.add({ role: "tool", results: await makeCalls(reply.calls, door, signal) });
    if (signal.aborted) throw new BelljarError("CANCELLED", "The turn was interrupted");
  }
  return { usage, calls, isOut: true };
}

function addUsage(sum: { inputTokens: number; outputTokens: number; dollars: number | undefined }, usage: ModelUsage | undefined): void {
  if (!usage) return;
  sum.inputTokens += usage.inputTokens;
  sum.outputTokens += usage.outputTokens;
  if (usage.dollars !== undefined) sum.dollars = (sum.dollars ?? 0) + usage.dollars;
}

async function makeCalls(calls: readonly ModelCall[], door: TurnDoor, signal: AbortSignal): Promise<readonly CallResult[]> {
  const results: CallResult[] = [];
  for (const call of calls) {
    const tool = door.tools.find(({ name }) => name === call.name);
    if (!signal.aborted) door.onCall(call, tool);
    const result = { id: call.id, ...(await makeCall(call, tool, { door, signal })) };
    if (!signal.aborted) door.onResult(result);
    results.push(result);
  }
  return results;
}

type Outcome = Omit<CallResult, "id">;

async function makeCall(
  { name, argumentsText }: ModelCall,
  tool: McpTool | undefined,
  { door, signal }: { readonly door: TurnDoor; readonly signal: AbortSignal },
): Promise<Outcome> {
  if (signal.aborted) return failed(INTERRUPTED);
  if (!tool) return failed(unknownTool(name, door.tools));
  const args = argumentsText.trim() === "" ? {} : parseJson(argumentsText);
  if (!isRecord(args)) return failed("The arguments are no JSON object");
  try {
    if (isDestructive(tool) && !(await door.mayCall(tool, args, signal))) return failed("The person has not allowed this call");
    const result = await door.call(tool, args, signal);
    return { text: cut(renderResult(result)), isError: result["isError"] === true };
  } catch (cause) {
    if (signal.aborted) return failed(INTERRUPTED);
    if (!(cause instanceof BelljarError)) throw cause;
    return failed(cut(cause.message));
  }
}

const INTERRUPTED = "The person has interrupted this call";

function failed(text: string): Outcome {
  return { text, isError: true };
}

function unknownTool(name: string, tools: readonly McpTool[]): string {
  const names = tools.map((tool) => tool.name);
  const shown = names.slice(0, SHOWN_NAMES).join(", ");
  return `There is no tool "${name.slice(0, RESULT_MAX)}"${didYouMean(name, names) || "."} There is ${shown || "none"}${names.length > SHOWN_NAMES ? ", ..." : ""}`;
}

/** What says neither that it only reads nor that it destroys nothing counts as destructive. */
export function isDestructive({ definition: { annotations } }: McpTool): boolean {
  if (!isRecord(annotations)) return true;
  return annotations["readOnlyHint"] !== true && annotations["destructiveHint"] !== false;
}

/** The end of an output often says how it ended, so both ends stay. */
function cut(text: string): string {
  if (text.length <= RESULT_MAX) return text;
  const half = RESULT_MAX / 2;
  return `${text.slice(0, half)}\n[${text.length - RESULT_MAX} characters left out]\n${text.slice(-half)}`;
}

function toModelTool({ name, definition: { description, inputSchema } }: McpTool): ModelTool {
  return {
    name,
    description: typeof description === "string" ? description.slice(0, DESCRIPTION_MAX) : "",
    inputSchema: isRecord(inputSchema) ? inputSchema : { type: "object" },
  };
}

const DESCRIPTION_MAX = 8_000;
