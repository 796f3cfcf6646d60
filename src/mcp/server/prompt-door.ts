import type { ChangeListener } from "../../catalog/caller.ts";
import type { ToolContent } from "../../catalog/tool.ts";
import type { WantedValue } from "./resource-door.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { Asker, Completion } from "./asker.ts";
import type { InputRequired } from "./client-channel.ts";

export interface PromptDescription {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
}

export interface PromptResult {
  readonly description?: string;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: ToolContent }[];
}

/** What MCP needs to serve prompts. */
export interface PromptDoor {
  list(principal: Principal): readonly PromptDescription[];
  /** Rejects with `PROMPT_NOT_FOUND` or `ARGUMENTS_INVALID`. */
  get(asker: Asker, name: string, args: Readonly<Record<string, string>>): Promise<PromptResult | InputRequired>;
  complete(asker: Asker, name: string, argument: WantedValue): Promise<Completion>;
  onChange(listener: ChangeListener): () => void;
}
