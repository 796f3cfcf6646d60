import { BelljarError } from "../../../src/errors.ts";
import type { PromptDescription, PromptDoor, PromptResult } from "../../../src/mcp/server/prompt-door.ts";
import { PNG } from "./content-tools.ts";
import { answered, ask, form } from "./questions.ts";

type Message = PromptResult["messages"][number];

const PROMPTS: readonly PromptDescription[] = [
  { name: "test_simple_prompt", description: "One message" },
  {
    name: "test_prompt_with_arguments",
    description: "Two arguments",
    arguments: [
      { name: "arg1", required: true },
      { name: "arg2", required: true },
    ],
  },
  { name: "test_prompt_with_embedded_resource", description: "A resource", arguments: [{ name: "resourceUri", required: true }] },
  { name: "test_prompt_with_image", description: "An image" },
  { name: "test_input_required_result_prompt", description: "Asks first" },
];

export interface FixturePrompts extends PromptDoor {
  changed(): void;
}

export function createFixturePrompts(): FixturePrompts {
  const listeners = new Set<() => void>();
  return {
    list: () => PROMPTS,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    changed: () => listeners.forEach((listener) => listener()),
    complete: async (_asker, _name, { value }) => ({ values: ["paris", "park", "party"].filter((one) => one.startsWith(value)) }),
    async get({ client }, name, args) {
      if (name === "test_input_required_result_prompt") {
        const context = answered(client?.inputResponses["user_context"], "context");
        if (context !== undefined) return { messages: [said(`The context is ${context}`)] };
        return ask({ user_context: form("What context should the prompt use?", { context: { type: "string" } }, ["context"]) });
      }
      return { messages: messagesOf(name, args) };
    },
  };
}

function messagesOf(name: string, { arg1 = "", arg2 = "", resourceUri = "" }: Readonly<Record<string, string>>): readonly Message[] {
  switch (name) {
    case "test_simple_prompt":
      return [said("This is a simple prompt for testing.")];
    case "test_prompt_with_arguments":
      return [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)];
    case "test_prompt_with_embedded_resource": {
      const resource = { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." };
      return [{ role: "user", content: { type: "resource", resource } }, said("Please process the embedded resource above.")];
    }
    case "test_prompt_with_image":
      return [{ role: "user", content: { type: "image", data: PNG, mimeType: "image/png" } }, said("Please analyze the image above.")];
    default:
      throw new BelljarError("PROMPT_NOT_FOUND", `No prompt "${name}"`);
  }
}

function said(text: string): Message {
  return { role: "user", content: { type: "text", text } };
}
