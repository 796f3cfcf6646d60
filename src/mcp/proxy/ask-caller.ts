import type { JsonSchemas } from "../../catalog/json-schemas.ts";
import type { ToolContext } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import type { JsonObject } from "../client/json-object.ts";

const MESSAGE_MAX = 2_000;

export interface Asking {
  readonly server: string;
  /** The calls that the server's instance answers. */
  readonly calls: ReadonlySet<ToolContext>;
  readonly schemas: JsonSchemas;
}

/**
 * Asks the person of the call that a server's question belongs to, who is told which server asks. Rejects with `PERSON_UNREACHABLE` if there is
 * no such call or there are several, and as `ToolContext.ask` does. A question that only wants a page to be opened is cancelled.
 */
export async function askCaller({ server, calls, schemas }: Asking, params: JsonObject): Promise<JsonObject> {
  const { message, requestedSchema } = params;
  if (requestedSchema === undefined) return { action: "cancel" };
  const [call, ...others] = calls;
  if (!call || others.length > 0) {
    const why = call ? "it answers several calls at once" : "it answers no call";
    throw new BelljarError("PERSON_UNREACHABLE", `Nobody can be asked what the server "${server}" asks: ${why}`);
  }
  const form = schemas.read(requestedSchema, `mcp ${server}`);
  const answer = await call.ask({ message: `The server "${server}" asks: ${String(message).slice(0, MESSAGE_MAX)}`, form });
  if (answer.accepted) return { action: "accept", content: answer.form };
  return { action: answer.reason === "declined" ? "decline" : "cancel" };
}
