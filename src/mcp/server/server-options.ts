import type { Caller } from "../../catalog/caller.ts";
import type { PromptDoor } from "./prompt-door.ts";
import type { ResourceDoor } from "./resource-door.ts";
import type { ToolDoor } from "./tool-door.ts";

export interface McpServerOptions {
  readonly tools: ToolDoor;
  readonly resources?: ResourceDoor;
  readonly prompts?: PromptDoor;
  readonly version: string;
  /** What the instructions say of the caller's tools and default sandbox, a line each. */
  readonly introduce?: (caller: Caller) => readonly string[];
  /** The tools act on the machine that the server runs in, and there are no sandboxes. The instructions say so. */
  readonly isMachine?: boolean;
  /** Called when a client connects, or sends a request without a connection. What it returns is disposed when the client has gone. */
  readonly connected?: (caller: Caller) => Disposable;
  /**
   * Told when a client over HTTP has gone, with the id that its calls carried. One without a session goes unnoticed; one over stdio is the
   * process's only one.
   */
  readonly left?: (caller: Caller, clientId: string) => void;
  /** Told of what is our own fault, under the request id that the caller was given. */
  readonly onError: (error: unknown, requestId?: string) => void;
}
