import type { ProtocolTool } from "./protocol-door.ts";
import { text } from "./protocol-door.ts";
import { answered, ask, form, ROOTS, sample, sampled } from "./questions.ts";
import { open, sign } from "./signed-state.ts";

const NAME = form("What is your name?", { name: { type: "string" } }, ["name"]);
const CAPITAL = sample("What is the capital of France?");

/** A tool that asks once for `key` and then says what it was told. */
function asking(
  name: string,
  key: string,
  request: ReturnType<typeof form>,
  conclude: (response: unknown) => string | undefined,
): ProtocolTool {
  return {
    name,
    run(_args, { client }) {
      const answer = conclude(client?.inputResponses[key]);
      return answer === undefined ? ask({ [key]: request }) : text(answer);
    },
  };
}

const prefixed = (prefix: string, value: string | undefined): string | undefined => (value === undefined ? undefined : `${prefix}${value}`);

const roots = (response: unknown): string | undefined => {
  const list = (response as { roots?: { uri: string }[] } | undefined)?.roots;
  return list && `Roots: ${list.map(({ uri }) => uri).join(", ")}`;
};

/** What the catalog has no place for, as Belljar asks no client for its model or its folders: answered at the protocol's own door. */
export const PROTOCOL_TOOLS: readonly ProtocolTool[] = [
  {
    name: "test_sampling",
    inputSchema: { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] },
    run({ prompt }, { client }) {
      const said = sampled(client?.inputResponses["sample"]);
      return said === undefined ? ask({ sample: sample(String(prompt)) }) : text(`LLM response: ${said}`);
    },
  },
  // The suite names the key of the question, which is the server's own choice for the catalog's tools.
  asking("test_input_required_result_elicitation", "user_name", NAME, (response) => {
    const name = answered(response, "name");
    return name === undefined ? undefined : `Hello, ${name}!`;
  }),
  asking("test_missing_capability", "sample", sample("Say hello"), sampled),
  asking("test_input_required_result_sampling", "capital_question", CAPITAL, (response) => prefixed("The model says: ", sampled(response))),
  asking("test_input_required_result_list_roots", "client_roots", ROOTS, roots),
  asking("test_input_required_result_capabilities", "capital_question", CAPITAL, sampled),
  {
    name: "test_input_required_result_multiple_inputs",
    run(_args, { client }) {
      const { user_name: name, greeting, client_roots: listed } = client?.inputResponses ?? {};
      const parts = [answered(name, "name"), sampled(greeting), roots(listed)];
      if (open(client?.requestState) === "asked" && parts.every((part) => part !== undefined)) return text(parts.join("; "));
      return ask({ user_name: NAME, greeting: sample("Generate a greeting", 50), client_roots: ROOTS }, sign("asked"));
    },
  },
];
