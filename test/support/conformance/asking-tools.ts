import type { FixtureTool } from "./fixture-door.ts";
import { text } from "./fixture-door.ts";
import { answered, ask, form, ROOTS, sample, sampled } from "./questions.ts";
import { open, sign } from "./signed-state.ts";

const NAME = form("What is your name?", { name: { type: "string" } }, ["name"]);
const CONFIRM = form("Please confirm", { ok: { type: "boolean" } }, ["ok"]);

const DEFAULTS = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};

const titled = (values: Readonly<Record<string, string>>) => Object.entries(values).map(([value, title]) => ({ const: value, title }));
const PLAIN = ["option1", "option2", "option3"];

const ENUMS = {
  untitledSingle: { type: "string", enum: PLAIN },
  titledSingle: { type: "string", oneOf: titled({ value1: "First Option", value2: "Second Option", value3: "Third Option" }) },
  legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
  untitledMulti: { type: "array", items: { type: "string", enum: PLAIN } },
  titledMulti: { type: "array", items: { anyOf: titled({ value1: "First Choice", value2: "Second Choice", value3: "Third Choice" }) } },
};

/** A tool that asks once for `key` and then says what it was told. */
function asking(
  name: string,
  key: string,
  request: ReturnType<typeof form>,
  conclude: (response: unknown) => string | undefined,
): FixtureTool {
  return {
    name,
    run(_args, { client }) {
      const answer = conclude(client?.inputResponses[key]);
      return answer === undefined ? ask({ [key]: request }) : text(answer);
    },
  };
}

const completed = (response: unknown): string | undefined => {
  const { action, content } = (response ?? {}) as { action?: string; content?: unknown };
  return action === undefined ? undefined : `Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`;
};

const prefixed = (prefix: string, value: string | undefined): string | undefined => (value === undefined ? undefined : `${prefix}${value}`);

const roots = (response: unknown): string | undefined => {
  const list = (response as { roots?: { uri: string }[] } | undefined)?.roots;
  return list && `Roots: ${list.map(({ uri }) => uri).join(", ")}`;
};

const EMAIL_FORM = {
  username: { type: "string", description: "User's response" },
  email: { type: "string", description: "User's email address" },
};

export const ASKING_TOOLS: readonly FixtureTool[] = [
  {
    name: "test_sampling",
    inputSchema: { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] },
    run({ prompt }, { client }) {
      const said = sampled(client?.inputResponses["sample"]);
      return said === undefined ? ask({ sample: sample(String(prompt)) }) : text(`LLM response: ${said}`);
    },
  },
  {
    name: "test_elicitation",
    inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
    run({ message }, { client }) {
      const response = client?.inputResponses["form"];
      if (response === undefined) return ask({ form: form(String(message), EMAIL_FORM, ["username", "email"]) });
      return text(`User response: ${JSON.stringify(response)}`);
    },
  },
  asking("test_elicitation_sep1034_defaults", "form", form("Check these values", DEFAULTS), completed),
  asking("test_elicitation_sep1330_enums", "form", form("Choose", ENUMS), completed),
  asking("test_missing_capability", "sample", sample("Say hello"), sampled),
  asking("test_streaming_elicitation", "form", NAME, completed),
  asking("test_input_required_result_elicitation", "user_name", NAME, (response) => {
    const name = answered(response, "name");
    return name === undefined ? undefined : `Hello, ${name}!`;
  }),
  asking("test_input_required_result_sampling", "capital_question", sample("What is the capital of France?"), (response) =>
    prefixed("The model says: ", sampled(response)),
  ),
  asking("test_input_required_result_list_roots", "client_roots", ROOTS, roots),
  asking("test_input_required_result_capabilities", "capital_question", sample("What is the capital of France?"), sampled),
  stateful("test_input_required_result_request_state", "state-ok"),
  stateful("test_input_required_result_tampered_state", "state-ok"),
  {
    name: "test_input_required_result_multiple_inputs",
    run(_args, { client }) {
      const { user_name: name, greeting, client_roots: listed } = client?.inputResponses ?? {};
      const parts = [answered(name, "name"), sampled(greeting), roots(listed)];
      if (open(client?.requestState) === "asked" && parts.every((part) => part !== undefined)) return text(parts.join("; "));
      return ask({ user_name: NAME, greeting: sample("Generate a greeting", 50), client_roots: ROOTS }, sign("asked"));
    },
  },
  {
    name: "test_input_required_result_multi_round",
    run(_args, { client }) {
      const state = open(client?.requestState);
      const name = answered(client?.inputResponses["step1"], "name");
      const color = answered(client?.inputResponses["step2"], "color");
      if (state?.startsWith("two:") && color !== undefined) return text(`${state.slice(4)} likes ${color}`);
      if (state === "one" && name !== undefined) {
        const step2 = form("Step 2: What is your favorite color?", { color: { type: "string" } }, ["color"]);
        return ask({ step2 }, sign(`two:${name}`));
      }
      return ask({ step1: form("Step 1: What is your name?", { name: { type: "string" } }, ["name"]) }, sign("one"));
    },
  },
];

function stateful(name: string, outcome: string): FixtureTool {
  return {
    name,
    run(_args, { client }) {
      const state = open(client?.requestState);
      const isConfirmed = answered(client?.inputResponses["confirm"], "ok") !== undefined;
      return state === "confirm" && isConfirmed ? text(outcome) : ask({ confirm: CONFIRM }, sign("confirm"));
    },
  };
}
