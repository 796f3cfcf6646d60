import type { Answer } from "../../../src/catalog/question.ts";
import type { ToolContext } from "../../../src/catalog/tool.ts";
import { textResult } from "../../../src/catalog/tool-result.ts";
import type { FixtureTool } from "./fixture-catalog.ts";

type Form = Readonly<Record<string, unknown>>;

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

const EMAIL_FORM = {
  username: { type: "string", description: "User's response" },
  email: { type: "string", description: "User's email address" },
};

/** Tools that ask the person as Belljar's own do: each step of the protocol is the server's. */
export const ASKING_TOOLS: readonly FixtureTool[] = [
  {
    name: "test_elicitation",
    schema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
    async run(context, { message }) {
      return textResult(`User response: ${JSON.stringify(await ask(context, String(message), EMAIL_FORM))}`);
    },
  },
  asking("test_elicitation_sep1034_defaults", "Check these values", DEFAULTS, completed),
  asking("test_elicitation_sep1330_enums", "Choose", ENUMS, completed),
  asking("test_streaming_elicitation", "What is your name?", { name: { type: "string" } }, completed),
  asking("test_input_required_result_request_state", "Please confirm", { ok: { type: "boolean" } }, () => "state-ok"),
  asking("test_input_required_result_tampered_state", "Please confirm", { ok: { type: "boolean" } }, () => "state-ok"),
  {
    name: "test_input_required_result_multi_round",
    async run(context) {
      const name = await ask(context, "Step 1: What is your name?", { name: { type: "string" } });
      const color = await ask(context, "Step 2: What is your favorite color?", { color: { type: "string" } });
      return textResult(`${field(name, "name")} likes ${field(color, "color")}`);
    },
  },
];

/** A tool that asks once, and then says what it was told. */
function asking(name: string, message: string, properties: object, conclude: (answer: Answer<Form>) => string): FixtureTool {
  return { name, run: async (context) => textResult(conclude(await ask(context, message, properties))) };
}

/** All fields are required, unless they have defaults or choices. */
function ask(context: ToolContext, message: string, properties: object): Promise<Answer<Form>> {
  const isPlain = properties !== DEFAULTS && properties !== ENUMS;
  const schema = { type: "object" as const, properties, ...(isPlain && { required: Object.keys(properties) }) };
  return context.ask({ message, form: { schema, parse: (value) => ({ value: value as Form }) } });
}

function completed(answer: Answer<Form>): string {
  const action = answer.accepted ? "accept" : answer.reason === "declined" ? "decline" : "cancel";
  return `Elicitation completed: action=${action}, content=${JSON.stringify(answer.accepted ? answer.form : {})}`;
}

function field(answer: Answer<Form>, name: string): string {
  return answer.accepted ? String(answer.form[name]) : answer.reason;
}
