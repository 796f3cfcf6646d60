import type { ChangeListener } from "../../catalog/caller.ts";
import type { ToolContent } from "../../catalog/tool.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { ClientChannel, InputRequired } from "./client-channel.ts";

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
  get(
    principal: Principal,
    name: string,
    args: Readonly<Record<string, string>>,
    client: ClientChannel,
  ): Promise<PromptResult | InputRequired>;
  complete(principal: Principal, name: string, argument: { readonly name: string; readonly value: string }): Promise<readonly string[]>;
  onChange(listener: ChangeListener): () => void;
}
