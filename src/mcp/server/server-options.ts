import type { PromptDoor } from "./prompt-door.ts";
import type { ResourceDoor } from "./resource-door.ts";
import type { ToolDoor } from "./tool-door.ts";

export interface McpServerOptions {
  readonly tools: ToolDoor;
  readonly resources?: ResourceDoor;
  readonly prompts?: PromptDoor;
  readonly version: string;
  /** Told of what is our own fault, under the request id that the caller was given. */
  readonly onError: (error: unknown, requestId?: string) => void;
}
