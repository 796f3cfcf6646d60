import { Server } from "@modelcontextprotocol/server";
import type { JSONRPCRequest, Result, ServerContext } from "@modelcontextprotocol/server";

type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

/**
 * The SDK's server checks what a tool answers, and sends a copy that has the fields alone that the SDK knows. This one sends the answer that
 * was checked: other servers' answers pass whole.
 */
export class PassingServer extends Server {
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    if (method !== "tools/call") return super._wrapHandler(method, handler);
    return async (request, context) => {
      let given: Result | undefined;
      const checked = await super._wrapHandler(method, async (asked, inner) => (given = await handler(asked, inner)))(request, context);
      return given && "content" in given ? { ...checked, content: given["content"] } : checked;
    };
  }
}
