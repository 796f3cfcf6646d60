import { BelljarError } from "../../errors.ts";
import type { PromptDescription, PromptDoor, PromptResult } from "../server/prompt-door.ts";
import { INSIDE } from "../../sandbox/sandbox.ts";

interface BelljarPrompt extends PromptDescription {
  readonly title: string;
  readonly write: (args: Readonly<Record<string, string>>) => string;
}

const ARGUMENT_MAX = 10_000;

/** What a person may start with. */
const PROMPTS: readonly BelljarPrompt[] = [
  {
    name: "start",
    title: "Look at the computer and start",
    description: "Looks around in the sandbox, and then does a task in it",
    arguments: [{ name: "task", description: "What shall be done", required: true }],
    write: ({ task = "" }) =>
      [
        "You have a computer of your own: an isolated Linux sandbox, through the tools of the server belljar.",
        "Look first: list_directory the workspace, and run_command `uname -a; python3 --version; node --version; nproc; free -m`.",
        "Work in small steps, run what you write, and read the output before you go on. Nothing that you do there reaches the person's machine.",
        "",
        `The task: ${task}`,
      ].join("\n"),
  },
  {
    name: "fix_tests",
    title: "Make the tests pass",
    description: "Finds the project's tests in the workspace, runs them and mends what fails",
    arguments: [{ name: "path", description: "The project's folder in the sandbox; default the workspace", required: false }],
    write: ({ path = INSIDE.workspace }) =>
      [
        `The project in ${path} of your sandbox has tests. Find out how they are run (package.json, Makefile, pyproject.toml ...) and run them with run_command.`,
        "For each failure: read the test and the code, say in a sentence what is wrong, mend the code (not the test, unless the test is wrong), and run that test again.",
        "At the end run everything once more, and sum up what you changed and why.",
      ].join("\n"),
  },
  {
    name: "analyse_data",
    title: "Analyse a file of data",
    description: "Reads a file of the sandbox with a program and reports what is in it",
    arguments: [
      { name: "path", description: "The file in the sandbox", required: true },
      { name: "question", description: "What you want to know", required: false },
    ],
    write: ({ path = "", question = "What is in it, and what stands out?" }) =>
      [
        `Analyse the file ${path} in your sandbox. Look at its beginning and its size first (file_info, or run_command \`head -c 2000\`), then write a small Python program for the rest.`,
        "Never print the whole file. Check your numbers with a second way of counting, and say where the data is incomplete or odd.",
        "",
        `The question: ${question}`,
      ].join("\n"),
  },
];

export function createBelljarPrompts(): PromptDoor {
  return {
    list: () => PROMPTS.map(describe),
    get: async (_asker, name, args) => render(find(name), args),
    complete: async () => ({ values: [] }),
    // They come with the program.
    onChange: () => () => undefined,
  };
}

function describe({ name, title, description, arguments: args }: BelljarPrompt): PromptDescription {
  return { name, title, ...(description !== undefined && { description }), ...(args && { arguments: args }) };
}

function find(name: string): BelljarPrompt {
  const prompt = PROMPTS.find((one) => one.name === name);
  if (prompt) return prompt;
  const known = PROMPTS.map((one) => one.name).join(", ");
  throw new BelljarError("PROMPT_NOT_FOUND", `No prompt ${JSON.stringify(name.slice(0, 100))}; there are ${known}`);
}

function render(prompt: BelljarPrompt, args: Readonly<Record<string, string>>): PromptResult {
  const missing = prompt.arguments?.filter(({ name, required }) => required && !args[name]) ?? [];
  if (missing.length > 0)
    throw new BelljarError("ARGUMENTS_INVALID", `The prompt ${prompt.name} needs ${missing.map(({ name }) => name).join(", ")}`);
  const long = Object.entries(args).find(([, value]) => value.length > ARGUMENT_MAX);
  if (long) throw new BelljarError("ARGUMENTS_INVALID", `${long[0].slice(0, 100)} has more than ${ARGUMENT_MAX} characters`);
  return {
    ...(prompt.description !== undefined && { description: prompt.description }),
    messages: [{ role: "user", content: { type: "text", text: prompt.write(args) } }],
  };
}
